// This script makes cases.json: the output of Iconify's own renderer, @iconify/utils 3.1.7, for some icons, rotated and sized.
//
//	npm install --no-save @iconify/utils@3.1.7 && node generate.mjs > cases.json
import { iconToSVG, iconToHTML, getIconData, calculateSize } from "@iconify/utils";

const set = {
	prefix: "test",
	width: 24,
	height: 24,
	icons: {
		plain: { body: '<path fill="currentColor" d="M2 2h10v4z"/>' },
		wide: { body: '<path fill="currentColor" d="M2 2h10v4z"/><circle r="3"/>', width: 90.933, height: 40 },
		tall: { body: '<g fill="none"><path stroke="currentColor" d="M1 1v9"/></g>', width: 17.5, height: 1000.1, left: -3.25, top: 0.05 },
		moved: { body: '<path d="M0 0h9v9z"/>', left: 4, top: 8, width: 16, height: 32 },
		negative: { body: '<path d="M0 0h9v9z"/>', left: -960, top: -960, width: 960, height: 960 },
		defs: { body: '<defs><linearGradient id="a"><stop stop-color="#f00"/></linearGradient></defs><path fill="url(#a)" d="M0 0h9v9z"/>' },
		inner: { body: '<g id="b"><defs><path id="a" d="M0 0h9v9z"/></defs><use href="#a"/></g><path d="M2 2h8v8z"/>', width: 32 },
		linked: { body: '<defs><path id="a" d="M0 0h9v9z"/></defs><use xlink:href="#a"/>', height: 7 },
		tiny: { body: '<path d="M0 0h9v9z"/>', left: 0.1, top: 0.2, width: 0.3, height: 0.0000007 },
		empty: { body: "" },
	},
	aliases: {},
};
const turns = [];
for (const rotate of [0, 1, 2, 3]) for (const hFlip of [false, true]) for (const vFlip of [false, true]) turns.push({ rotate, hFlip, vFlip });
const sizes = [{}, { height: 48 }, { width: 100 }, { width: 30, height: 20 }, { height: 1 }, { height: 4096 }, { width: 7 }];

const cases = [];
let next = 0;
for (const name of Object.keys(set.icons)) {
	for (const turn of turns) {
		const alias = name + JSON.stringify(turn);
		set.aliases[alias] = { parent: name, ...turn };
		const icon = getIconData(set, alias);
		const parent = getIconData(set, name);
		const box = { left: parent.left ?? 0, top: parent.top ?? 0, width: parent.width, height: parent.height };
		const asked = turn.rotate === 0 && !turn.hFlip && !turn.vFlip ? turns : turns.filter((_, i) => i % 5 === 0);
		const one = { name, body: parent.body, box, turn, shown: [] };
		for (const then of asked) {
			for (const size of [{}, sizes[1 + (next++ % (sizes.length - 1))]]) {
				const own = Object.keys(size).length ? {} : { width: "auto", height: "auto" };
				const made = iconToSVG(icon, { ...then, ...size, ...own });
				one.shown.push({ then, size, svg: iconToHTML(made.body, made.attributes) });
			}
		}
		cases.push(one);
	}
}
const numbers = [0, -0, 1, -1.5, 0.1 + 0.2, 1e21, 123456789012345680000, 1e-6, 1e-7, 1.5e-10, -2.5e300, 4 / 3].map((n) => [Object.is(n, -0) ? "-0" : JSON.stringify(n), String(n)]);
const follows = [];
for (const size of [1, 7, 16, 24, 48, 100, 333, 4096]) for (const ratio of [1, 0.5, 1.25, 2 / 3, 1.0000001, 90.933 / 40, 0.001]) follows.push([size, ratio, calculateSize(size, ratio)]);
console.log(JSON.stringify({ package: "@iconify/utils@3.1.7", cases, numbers, follows }));
