import type { SharedDb } from '@parley/postgres/database/types';
import type { Contact } from '../messages/message.ts';
import { invitationWording } from '../messages/token-wording.ts';
import type { Ports } from '../ports.ts';
import { issueSecuredToken } from '../secured-tokens/issue-secured-token.ts';
import { contactIndex } from './contact.ts';

/**
 * Sends an invitation to register with this contact, and revokes an earlier one.
 * @param contact an email trimmed and in lower case, or a phone number in E.164
 */
export async function issueInvitation(ports: Ports, db: SharedDb, contact: Contact): Promise<void> {
  await issueSecuredToken(ports, db, {
    type: 'SECURED_TOKEN',
    purpose: 'INVITATION',
    contact: {
      channel: 'email' in contact ? 'EMAIL' : 'PHONE',
      index: await contactIndex(ports.keys, contact),
      userId: null,
    },
    to: contact,
    wording: invitationWording,
    capped: false,
  });
}
