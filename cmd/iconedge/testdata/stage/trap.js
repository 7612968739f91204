// This script runs in every frame before its document. It reports the calls of a hostile SVG to the stage, and once the
// SVG is visible, it does everything to it that a person could do.
(() => {
	const tell = what => fetch("http://stage.test/trap?" + new URLSearchParams({ what, at: location.href.slice(0, 80) }), { mode: "no-cors" }).catch(() => {});
	for (const name of ["alert", "confirm", "prompt", "print", "open"]) window[name] = () => { tell(name) };
	if (window === top) return;
	const people = [
		...["click", "auxclick", "dblclick", "mouseover", "mousemove", "mouseout", "mousedown", "mouseup"].map(t => new MouseEvent(t, { bubbles: true, cancelable: true })),
		...["pointerenter", "pointerover", "pointermove", "pointerdown"].map(t => new PointerEvent(t, { bubbles: true })),
		...["focusin", "focus"].map(t => new FocusEvent(t, { bubbles: true })),
		...["keydown", "keyup"].map(t => new KeyboardEvent(t, { bubbles: true, key: "a" })),
		new WheelEvent("wheel", { bubbles: true }),
	];
	const poke = () => document.querySelectorAll("*").forEach(e => { e.focus?.(); people.forEach(event => e.dispatchEvent(event)) });
	const svg = "http://www.w3.org/2000/svg";
	addEventListener("load", () => {
		const drawn = document.contentType === "image/svg+xml" ? document : document.body;
		drawn?.querySelectorAll("*").forEach(e => {
			if (e.namespaceURI !== svg && !e.hasAttribute("data-stage")) tell("a stray " + e.localName);
			for (const a of e.attributes) if (/^on/i.test(a.localName)) tell("an attribute " + a.localName);
		});
		setTimeout(poke, 100);
		setTimeout(poke, 500);
	});
})();
//# sourceURL=stage:trap
