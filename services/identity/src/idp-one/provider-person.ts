import { anyText, rule, text, textProblem } from '@parley/kernel/input';
import { z } from 'zod';
import { isEmail, normalEmail } from '../accounts/email-address.ts';
import { maxFullname } from '../accounts/registration.ts';

const identifier = z
  .union([z.string(), z.int()])
  .transform(String)
  .check(rule((id) => textProblem(id, 255)));

const answer = z.object({
  subject: identifier,
  email: anyText(254).nullish(),
  emailVerified: z.boolean().nullish(),
  fullname: anyText(maxFullname).nullish(),
  company: z.object({ id: identifier, name: text(255) }).nullish(),
});

/** The person that a ticket identifies, as reported by the provider. */
export interface ProviderPerson {
  /** The person's permanent subject at the provider. */
  subject: string;
  /** The person's email, normalized as at registration; null if there is no valid email. */
  email: string | null;
  emailVerified: boolean;
  fullname: string;
  company: { id: string; name: string } | null;
}

/** Parses the response to an exchange. @throws Error that names invalid fields without repeating their values */
export function readProviderPerson(body: unknown): ProviderPerson {
  const { data, error } = answer.safeParse(body);
  if (error) throw new Error(`not as agreed: ${error.issues.map(({ path }) => path.join('.') || 'all').join(', ')}`);
  const normal = normalEmail(data.email ?? '');
  const email = isEmail(normal) ? normal : null;
  return {
    subject: data.subject,
    email,
    emailVerified: data.emailVerified === true && !isAnothersInNormalForm(data.email ?? ''),
    fullname: data.fullname?.trim() || (email?.split('@')[0] ?? 'User'),
    company: data.company ?? null,
  };
}

/**
 * Reports whether normalization changes more than case and surrounding spaces. For example KELVIN SIGN becomes the
 * letter k, so that the result may be another person's address.
 */
function isAnothersInNormalForm(email: string): boolean {
  const trimmed = email.replace(/^ +| +$/g, '');
  const letters = [...trimmed];
  // Greek sigma has a different lower case at the end of a word.
  const isByLetter = trimmed.toLowerCase() === letters.map((letter) => letter.toLowerCase()).join('');
  return /\s/.test(trimmed) || !isByLetter || !letters.every(isOfOneCasePair);
}

function isOfOneCasePair(letter: string): boolean {
  const lower = letter.toLowerCase();
  return letter === lower || letter === lower.toUpperCase();
}
