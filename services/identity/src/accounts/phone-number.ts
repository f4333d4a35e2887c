import { parsePhoneNumberFromString } from 'libphonenumber-js';
import { normalizeText } from './normalize-text.ts';

const maxLength = 40;
/** Maximum length in UTF-16 units before normalization, when a character may have several units. */
const maxLengthAsGiven = 4 * maxLength;

export interface Phone {
  /** The dial prefix as given, e.g. `+44` or `44`, in ASCII. */
  code: string;
  number: string;
  e164: string;
  /** Significant national digits without leading zeros, for the lookup by national number. */
  national: string;
}

/**
 * Parses a phone number with digits of any script. Checks only that the country has numbers of this length, not that
 * the number is assigned.
 */
export function readPhone(phoneCode: string, phoneNumber: string): Phone | undefined {
  if (phoneCode.length > maxLengthAsGiven || phoneNumber.length > maxLengthAsGiven) return undefined;
  const [code, number] = [normalizeText(phoneCode), normalizeText(phoneNumber)];
  const callingCode = /^\+?(\d{1,3})$/.exec(code)?.[1];
  if (!callingCode || number.length > maxLength) return undefined;
  const parsed = parse(number, callingCode);
  if (!parsed || parsed.ext || parsed.countryCallingCode !== callingCode) return undefined;
  return {
    code,
    number: number.startsWith('+') ? parsed.nationalNumber : digitsOf(number),
    e164: parsed.number,
    national: withoutLeadingZeros(parsed.nationalNumber),
  };
}

/** A number without a separate dial prefix: E.164, or national digits. */
export type PhoneQuery = { e164: string } | { digits: string; national: string };

export function readPhoneQuery(phoneNumber: string): PhoneQuery | undefined {
  if (phoneNumber.length > maxLengthAsGiven) return undefined;
  const number = normalizeText(phoneNumber);
  if (number.length > maxLength) return undefined;
  if (number.startsWith('+')) {
    const parsed = parse(number);
    return parsed && { e164: parsed.number };
  }
  const digits = digitsOf(number);
  return digits.length >= 4 ? { digits, national: withoutLeadingZeros(digits) } : undefined;
}

function parse(text: string, defaultCallingCode?: string) {
  try {
    const parsed = parsePhoneNumberFromString(text, {
      extract: false,
      ...(defaultCallingCode && { defaultCallingCode }),
    });
    return parsed?.isPossible() ? parsed : undefined;
  } catch {
    return undefined; // a dial prefix that no country has
  }
}

/** The national trunk prefix is optional in writing, so leading zeros do not distinguish numbers. */
function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+/, '');
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}
