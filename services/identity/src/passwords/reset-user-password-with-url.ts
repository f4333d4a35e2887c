import type { CallerRequest } from '@parley/kernel/caller-request';
import { anyText, graphEnum, parseInput } from '@parley/kernel/input';
import { z } from 'zod';
import { findContact } from '../accounts/contact.ts';
import type { ResetPasswordEmailInput, TokenPurpose } from '../generated/schema.ts';
import { resetLinkWording } from '../messages/token-wording.ts';
import type { Ports } from '../ports.ts';
import { issueSecuredToken, lockQueueOf } from '../secured-tokens/issue-secured-token.ts';

const linkRequest = z.object({ email: anyText().nullish(), purpose: graphEnum<TokenPurpose>() });

/** Mails a link for a new password. Always returns true, so that the response does not reveal which emails have an account. */
export async function resetUserPasswordWithUrl(
  ports: Ports,
  { signal }: CallerRequest,
  input: ResetPasswordEmailInput,
): Promise<boolean> {
  const { email, purpose } = parseInput(linkRequest, input);
  if (email == null || purpose !== 'RESET_PASSWORD') return true;
  const contact = await findContact(ports, { email });
  await ports.database.transactShared(
    (db) =>
      issueSecuredToken(ports, db, {
        type: 'SECURED_TOKEN',
        purpose,
        contact,
        to: (contact.userId !== null && contact.address) || null,
        wording: (token, expiresAt) => resetLinkWording(resetLink(ports, token), expiresAt),
        capped: true,
      }),
    { lockQueue: lockQueueOf(contact), signal },
  );
  return true;
}

function resetLink({ settings: { resetUrl, publicUrl } }: Ports, token: string): string {
  const link = new URL(resetUrl ?? `${publicUrl}/reset-password`);
  link.searchParams.set('token', token);
  return link.href;
}
