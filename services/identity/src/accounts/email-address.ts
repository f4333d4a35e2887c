import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Returns the normal form that all spellings of a mailbox share: trimmed, lower-cased, composed (NFC), and its domain in Unicode rather
 * than the `xn--` form of RFC 3492. Letters that only look like others, such as KELVIN SIGN or full-width ones, are not replaced, and
 * `isEmail` refuses them.
 */
export function normalEmail(email: string): string {
  const trimmed = email.trim();
  if (!isOfUsualLetters(trimmed)) return trimmed;
  const lower = trimmed.toLowerCase().normalize('NFC');
  const at = lower.lastIndexOf('@') + 1;
  return lower.slice(0, at) + domainOf(lower.slice(at));
}

/**
 * Converts a domain to Unicode; returns an invalid domain unchanged. Plain ASCII domains are not converted, because
 * `1.2` would be read as an IPv4 address. The functions of `node:url` parse the host of a URL, so they would cut a
 * domain at a `/`, `?`, `#` or `:`, and decode a `%`.
 */
function domainOf(domain: string): string {
  if (!/[^\p{ASCII}]|xn--/u.test(domain) || signOutsideDomains.test(domain)) return domain;
  const ascii = domainToASCII(domain);
  const unicode = domainToUnicode(ascii);
  return unicode !== '' && domainToASCII(unicode) === ascii ? unicode : domain;
}
const signOutsideDomains = /[^\P{ASCII}a-z\d._-]/u;

/** Reports whether the result of `domainOf` is a valid domain. Valid `xn--` labels have already been converted. */
function isDomain(domain: string): boolean {
  if (signOutsideDomains.test(domain) || /(^|\.)xn--/u.test(domain)) return false;
  return !/[^\p{ASCII}]/u.test(domain) || domainToASCII(domain) !== '';
}

/**
 * Reports whether all characters are usual ones: none is a compatibility variant (NFKC) of another character, such as a full-width letter,
 * and none is a sign that NFC replaces by a letter, such as KELVIN SIGN.
 */
function isOfUsualLetters(text: string): boolean {
  const composed = text.normalize('NFC');
  if (composed.normalize('NFKC') !== composed) return false;
  return [...text].every((letter) => [...letter.normalize('NFC')].length > 1 || letter.normalize('NFC') === letter);
}

/** The address has one `@`, no quoting or comments, a domain with a dot, and no character that could inject mail headers. */
const shape = /^[^\s\p{C}@<>()[\]\\,;:"]{1,64}@[^\s\p{C}@<>()[\]\\,;:".]+(\.[^\s\p{C}@<>()[\]\\,;:".]+)+$/u;

/** @param normal the result of `normalEmail` */
export function isEmail(normal: string): boolean {
  if (normal.length > 254 || !shape.test(normal) || !isOfUsualLetters(normal)) return false;
  return isDomain(normal.slice(normal.indexOf('@') + 1));
}
