import type { IdentityKeys } from '../keys/identity-keys.ts';
import type { Contact } from '../messages/message.ts';
import type { Ports } from '../ports.ts';
import { isEmail, normalEmail } from './email-address.ts';
import { type ContactName, findAccount } from './find-account.ts';
import { normalizeText } from './normalize-text.ts';
import { readPhoneQuery } from './phone-number.ts';
import { type Account, userStore } from './user-store.ts';

export type Channel = 'EMAIL' | 'PHONE';

export interface FoundContact {
  channel: Channel;
  /**
   * The address for messages. Undefined if no message can be sent: there is no address, or the national number belongs to no user or to
   * several.
   */
  address: Contact | undefined;
  index: Buffer;
  userId: number | null;
}

export async function findContact({ database, keys }: Ports, name: ContactName): Promise<FoundContact> {
  const account = await database.transactShared((db) => findAccount(userStore(db), name));
  const address = addressOf(name, account);
  return {
    channel: name.email == null ? 'PHONE' : 'EMAIL',
    address,
    index: await contactIndex(keys, address ?? { unreachable: normalizeText(name.email ?? name.phoneNumber ?? '') }),
    userId: account?.userId ?? null,
  };
}

export function contactNameOf(text: string): ContactName {
  return text.includes('@') ? { email: text } : { phoneNumber: text };
}

/**
 * Returns a hash of the contact. Codes and links are stored under this hash, so that contacts of people without an account are not stored.
 */
export function contactIndex(keys: IdentityKeys, contact: Contact | { unreachable: string }): Promise<Buffer> {
  return keys.hmac('contact-index', JSON.stringify(contact));
}

/**
 * Returns the address to send a message to; undefined if there is none.
 * @param account the account that a national number belongs to
 */
export function addressOf({ email, phoneNumber }: ContactName, account?: Account): Contact | undefined {
  if (email != null) return isEmail(normalEmail(email)) ? { email: normalEmail(email) } : undefined;
  const query = readPhoneQuery(phoneNumber ?? '');
  if (query && 'e164' in query) return { phone: query.e164 };
  return account?.phoneE164 ? { phone: account.phoneE164 } : undefined;
}
