import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { invalid } from '@parley/kernel/errors';
import type { KeyRing } from '@parley/kernel/secrets/key-ring';

const macBytes = 16;
const idBytes = 4;

/** The customer whose sessions a cursor pages through. */
export interface CustomerOfTenant {
  tenantId: number;
  externalCustomerId: string;
}

export type CustomerCursors = ReturnType<typeof createCustomerCursors>;

/**
 * Makes and reads cursors of a customer's list of sessions. A cursor is a session id that is signed for one customer of one tenant. The
 * ring's first key signs; a cursor signed with any of its keys is valid.
 */
export function createCustomerCursors(ring: KeyRing) {
  const keys = ring.map(({ key }) => Buffer.from(hkdfSync('sha256', key, '', 'parley session cursor', 32)));

  function macOf(key: Buffer, { tenantId, externalCustomerId }: CustomerOfTenant, id: Buffer): Buffer {
    return createHmac('sha256', key)
      .update(`${tenantId}:`)
      .update(id)
      .update(externalCustomerId)
      .digest()
      .subarray(0, macBytes);
  }

  return {
    cursorOf(customer: CustomerOfTenant, sessionId: number): string {
      const id = Buffer.alloc(idBytes);
      id.writeUInt32BE(sessionId);
      const [key] = keys;
      if (!key) throw new Error('the ring has no key');
      return Buffer.concat([id, macOf(key, customer, id)]).toString('base64url');
    },

    /**
     * Returns the session id of a cursor.
     * @throws DomainError `invalid` if the cursor was not made for this customer
     */
    readCursor(customer: CustomerOfTenant, cursor: string): number {
      const bytes = Buffer.from(cursor, 'base64url');
      const [id, mac] = [bytes.subarray(0, idBytes), bytes.subarray(idBytes)];
      const isWhole = mac.length === macBytes && bytes.toString('base64url') === cursor;
      if (!isWhole || !keys.some((key) => timingSafeEqual(mac, macOf(key, customer, id)))) {
        throw invalid({ path: 'after', message: 'is no cursor of this list' });
      }
      return id.readUInt32BE();
    },
  };
}
