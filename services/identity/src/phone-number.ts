import { parsePhoneNumberFromString } from 'libphonenumber-js';
import { folded } from './folded.ts';

const maxLength = 40;
/** As given: characters that are none in ASCII may take several. */
const maxLengthAsGiven = 4 * maxLength;

/** A phone as it is kept. */
export interface Phone {
  /** The dial prefix as given, e.g. `+44` or `44`, in ASCII. */
  code: string;
  /** The national digits as given, in ASCII. */
  number: string;
  /** What makes it unique: `+447911123456`. */
  e164: string;
  /** What a national number is looked up by. */
  national: string;
}

/**
 * Reads a dial prefix and a number, in digits of any script. Checks that the length is possible there, not that the number is assigned.
 * Undefined when it can be no phone.
 */
export function readPhone(phoneCode: string, phoneNumber: string): Phone | undefined {
  if (phoneCode.length > maxLengthAsGiven || phoneNumber.length > maxLengthAsGiven) return undefined;
  const [code, number] = [folded(phoneCode), folded(phoneNumber)];
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

/** What a phone number given alone may mean: E.164, or national digits. */
export type PhoneQuery = { e164: string } | { digits: string; national: string };

/** Undefined when it is no phone number at all. */
export function readPhoneQuery(phoneNumber: string): PhoneQuery | undefined {
  if (phoneNumber.length > maxLengthAsGiven) return undefined;
  const number = folded(phoneNumber);
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

/** National trunk prefixes come and go with how people write a number; the zeros are not what tells two apart. */
function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+/, '');
}

function digitsOf(text: string): string {
  return text.replace(/\D/g, '');
}
