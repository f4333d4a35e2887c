import { anyText, parseInput, text } from '@parley/kernel/input';
import { z } from 'zod';
import type { QueryIsRegisterableArgs } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { isEmail, normalEmail } from './email-address.ts';
import { normalIdNo } from './registration.ts';
import { userStore } from './user-store.ts';

export type RegistrationObstacle = 'EMAIL_TAKEN' | 'ID_NO_TAKEN' | 'EMAIL_INVALID' | 'CLOSED';

export interface Registerability {
  registerable: boolean;
  reasons: RegistrationObstacle[];
}

const applicant = z.object({ email: anyText().transform(normalEmail), idNo: text(64).nullish() });

/** Reports whether a person may register. An identity number is taken if a user's document of any type has it. */
export async function isRegisterable(
  { database, keys, settings }: Ports,
  input: QueryIsRegisterableArgs,
): Promise<Registerability> {
  const { email, idNo } = parseInput(applicant, input, '');
  const idNoIndex = idNo == null ? undefined : await keys.hmac('id-no-index', JSON.stringify([normalIdNo(idNo)]));
  const reasons: RegistrationObstacle[] = [];
  await database.transactShared(async (db) => {
    const users = userStore(db);
    if (!isEmail(email)) reasons.push('EMAIL_INVALID');
    else if (await users.isTaken({ email })) reasons.push('EMAIL_TAKEN');
    if (idNoIndex && (await users.isTaken({ idNoIndex }))) reasons.push('ID_NO_TAKEN');
  });
  if (settings.registration !== 'open') reasons.push('CLOSED');
  return { registerable: reasons.length === 0, reasons };
}
