// The credit of an icon, as client/credit.go and icon/license have it for programs in Go.

/** The licence and attribution that users must keep with an icon. */
export interface Credit {
  license: string;
  attribution: string;
  commercialUse: boolean;
}

/**
 * Makes a text of the API one line, without control characters, and without those that turn the direction of writing,
 * because they can make a comment look like code.
 */
export const line = (s: unknown): string =>
  (typeof s === 'string' ? s : '').replace(/[\s\p{Cc}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+/gu, ' ').trim();

/** Returns the credit with texts of the API. Both the API and the licence must allow commercial use. */
export function creditOf(license: unknown, attribution: unknown, commercial: unknown): Credit {
  const spdx = line(license);
  const alternatives = spdx.split(/\s+OR\s+/i);
  const free = alternatives.some((one) => !/\bCC-BY-NC\b/i.test(one));
  return { license: spdx, attribution: line(attribution), commercialUse: commercial === true && free };
}

/** Returns the credit as a phrase. */
export const phrase = (c: Credit): string =>
  `license ${c.license}; attribution: ${c.attribution}` + (c.commercialUse ? '' : '; non-commercial use only');

// The licences that require no credit beside the icon: those of icon/license without the obligation attribution.
const silent =
  /^(0BSD|[AL]?GPL-[\d.]+(-only|-or-later)?|Apache-2\.0|BSD-[23]-Clause|CC0-1\.0|ISC|MIT|MPL-2\.0|OFL-1\.1|Unlicense)\+?$/i;

/**
 * Reports whether the licence requires that the credit is shown with the icon. That of a licence that is not known, or
 * of an expression in parentheses, must be.
 */
export const creditRequired = (c: Credit): boolean =>
  !c.license
    .split(/\s+OR\s+/i)
    .some((one) => one.split(/\s+AND\s+/i).every((part) => silent.test(withoutException(part))));

const withoutException = (part: string) => part.replace(/\s+WITH\s+\S+$/i, '');
