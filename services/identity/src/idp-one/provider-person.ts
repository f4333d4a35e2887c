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

/** Whom a ticket stands for, as the provider says. */
export interface ProviderPerson {
  /** Who it is at the provider, for ever. */
  subject: string;
  /** In the form of registrations; null where there is none in that form. */
  email: string | null;
  emailVerified: boolean;
  fullname: string;
  company: { id: string; name: string } | null;
}

/** Reads the answer to an exchange. @throws Error that names the values which are not as agreed, without repeating them. */
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

/** Whether normalising changes more than spaces around it and the case of letters: KELVIN SIGN becomes the letter k, and so somebody else's. */
function isAnothersInNormalForm(email: string): boolean {
  const trimmed = email.replace(/^ +| +$/g, '');
  const letters = [...trimmed];
  // At the end of a word the Greek sigma has a lower case of its own.
  const isByLetter = trimmed.toLowerCase() === letters.map((letter) => letter.toLowerCase()).join('');
  return /\s/.test(trimmed) || !isByLetter || !letters.every(isOfOneCasePair);
}

function isOfOneCasePair(letter: string): boolean {
  const lower = letter.toLowerCase();
  return letter === lower || letter === lower.toUpperCase();
}
