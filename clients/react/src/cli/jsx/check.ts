import { Refusal } from '../refusal';
import { forbiddenTargets } from './rules';

const svgSpace = 'http://www.w3.org/2000/svg';
const xlinkSpace = 'http://www.w3.org/1999/xlink';
const pixels = /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

/** url(#id) in a value, however it is quoted. */
export const reference = /url\([\t\n\f\r ]*["']?#([^\t\n\f\r "'()\\]+)["']?[\t\n\f\r ]*\)/gi;

/** Says that a drawing is not taken; the words repeat nothing of it. */
export function refuse(why: string): never {
  throw new Refusal('its drawing is refused: ' + why);
}

/**
 * Refuses an attribute that could run something or reach out of the drawing: on… in any spelling, references that lead out,
 * and animations of what must stay as it was looked at.
 */
export function check(element: string, name: string, value: string): void {
  const local = name.slice(name.lastIndexOf(':') + 1).toLowerCase();
  if (local.startsWith('on')) refuse('it has an event handler');
  if ((name === 'xmlns' && value !== svgSpace) || (name === 'xmlns:xlink' && value !== xlinkSpace))
    refuse("it has a namespace that is not SVG's");
  if (local === 'href') return checkHref(element, value.trim());
  if (name === 'attributeName' && !mayAnimate(value.toLowerCase())) refuse('it animates what no drawing may');
  if (!name.startsWith('xmlns')) checkValue(value);
}

function checkHref(element: string, value: string) {
  const inside = value.startsWith('#') && value.length > 1;
  if (!inside && !(element === 'image' && pixels.test(value))) refuse('it has a reference that leads out of it');
}

const mayAnimate = (name: string) => !name.startsWith('on') && !/[: \\]/.test(name) && !forbiddenTargets.has(name);

/** Looks for addresses in a value, whatever it is the value of: no reader is trusted to know where those are followed. */
export function checkValue(value: string): void {
  if (value.includes('\\') && value.includes('(')) refuse('it has an escape where a function is named');
  const tight = value.replace(/\s+/g, '').toLowerCase();
  if (/script:|expression\(|@import|data:text|image-set\(|src\(/.test(tight))
    refuse('it has a value that could run, or be fetched');
  if (/url\(/i.test(value.replace(reference, ''))) refuse('it has a reference that leads out of it');
}
