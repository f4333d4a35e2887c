import type { CallerRequest } from '@parley/kernel/caller-request';
import { conflict, invalid } from '@parley/kernel/errors';
import { anyText, parseInput } from '@parley/kernel/input';
import type { IssueInvitationRequest } from '@parley/protos/parley/identity/v1/admin';
import { z } from 'zod';
import { addressOf, contactNameOf } from '../accounts/contact.ts';
import { issueInvitation } from '../accounts/issue-invitation.ts';
import { userStore } from '../accounts/user-store.ts';
import type { Contact } from '../messages/message.ts';
import type { Ports } from '../ports.ts';
import { auditStore } from './audit-store.ts';
import { operatorOf } from './operator.ts';

const invitation = z.object({ contact: anyText(320) });

/**
 * Invites a contact.
 * @returns the contact as stored
 * @throws DomainError `invalid` if the contact is malformed
 * @throws DomainError `conflict` if a user already has the contact
 */
export async function invite(ports: Ports, { caller }: CallerRequest, input: IssueInvitationRequest): Promise<string> {
  const operator = operatorOf(caller);
  const contact = contactOf(parseInput(invitation, input, '').contact);
  await ports.database.transactShared(async (db) => {
    const users = userStore(db);
    const account =
      'email' in contact
        ? await users.findAccountByEmail(contact.email)
        : await users.findAccountByPhone({ e164: contact.phone });
    if (account) throw conflict(`User ${account.userId} is registered with this contact`);
    await issueInvitation(ports, db, contact);
    await auditStore(db).insert({ operator, requestId: caller.requestId, action: 'invite', facts: { ...contact } });
  });
  return Object.values(contact).join();
}

function contactOf(text: string): Contact {
  const contact = addressOf(contactNameOf(text));
  if (!contact) throw invalid({ path: 'contact', message: 'must be an email, or a phone number that begins with +' });
  return contact;
}
