import type { CallerRequest } from '@parley/kernel/caller-request';
import { anyText, graphEnum, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import { type FoundContact, findContact } from '../accounts/contact.ts';
import { namesOneContact } from '../accounts/find-account.ts';
import type { GenerateOtpInput, TokenPurpose } from '../generated/schema.ts';
import { codeWording } from '../messages/token-wording.ts';
import type { Ports } from '../ports.ts';
import { issueSecuredToken, lockQueueOf } from './issue-secured-token.ts';

const codeRequest = z
  .object({ email: anyText().nullish(), phoneNumber: anyText().nullish(), purpose: graphEnum<TokenPurpose>() })
  .refine(...namesOneContact);

/** Sends a code. Returns an id in any case, so that the response does not reveal which contacts have an account. */
export async function generateOtp(ports: Ports, { signal }: CallerRequest, input: GenerateOtpInput): Promise<number> {
  const { purpose, ...name } = parseInput(codeRequest, input);
  const contact = await findContact(ports, name);
  return ports.database.transactShared(
    (db) =>
      issueSecuredToken(ports, db, {
        type: 'TIMED_OTP',
        purpose,
        contact,
        to: (mayReceive(purpose, contact) && contact.address) || null,
        wording: (code, expiresAt) => codeWording(purpose, code, expiresAt),
        isLive: purpose !== 'INVITATION', // only operators send invitations
        capped: true,
      }),
    { lockQueue: lockQueueOf(contact), signal },
  );
}

function mayReceive(purpose: TokenPurpose, { userId }: FoundContact): boolean {
  if (purpose === 'INVITATION') return false;
  return purpose === 'SIGN_UP' ? userId === null : userId !== null;
}
