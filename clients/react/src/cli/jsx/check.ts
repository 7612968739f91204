import { Refusal } from '../refusal';
import { forbiddenTargets } from './rules';

const svgSpace = 'http://www.w3.org/2000/svg';
const xlinkSpace = 'http://www.w3.org/1999/xlink';
const pixels = /^data:image\/(?:png|jpeg|jpg|gif|webp);base64,[A-Za-z0-9+/=]+$/;

/** Matches url(#id) in a value, with or without quotes. */
export const reference = /url\([\t\n\f\r ]*["']?#([^\t\n\f\r "'()\\]+)["']?[\t\n\f\r ]*\)/gi;

/** Throws the error for an SVG that is rejected. The message quotes nothing of it. */
export function refuse(why: string): never {
  throw new Refusal('its SVG is rejected: ' + why);
}

/**
 * Rejects an attribute that could run a script or refer to something outside of the SVG: names that begin with on (in any
 * case), external references, and animations of attributes whose values were checked.
 */
export function check(element: string, name: string, value: string): void {
  const local = name.slice(name.lastIndexOf(':') + 1).toLowerCase();
  if (local.startsWith('on')) refuse('it has an event handler');
  if ((name === 'xmlns' && value !== svgSpace) || (name === 'xmlns:xlink' && value !== xlinkSpace))
    refuse('it has a foreign namespace');
  if (local === 'href') return checkHref(element, value.trim());
  if (name === 'attributeName' && !mayAnimate(value.toLowerCase()))
    refuse('it animates an attribute that must not change');
  if (!name.startsWith('xmlns')) checkValue(value);
}

function checkHref(element: string, value: string) {
  const inside = value.startsWith('#') && value.length > 1;
  if (!inside && !(/^(image|feImage)$/.test(element) && pixels.test(value))) refuse('it has an external reference');
}

const mayAnimate = (name: string) => !name.startsWith('on') && !/[: \\]/.test(name) && !forbiddenTargets.has(name);

/** Searches any value for addresses, because browsers follow them in more attributes than one can list. */
export function checkValue(value: string): void {
  if (value.includes('\\') && value.includes('(')) refuse('it has a backslash in a value with a function');
  const tight = value.replace(/\s+/g, '').toLowerCase();
  if (/script:|expression\(|@import|data:text|image-set\(|src\(/.test(tight))
    refuse('it has a value that could run or load something');
  if (/url\(/i.test(value.replace(reference, ''))) refuse('it has an external reference');
}
