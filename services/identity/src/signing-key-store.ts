import type { SharedDb } from '@parley/postgres/database/types';
import type { JWK } from 'jose';

export interface StoredSigningKey {
  kid: string;
  privateJwkSealed: Buffer;
}

export interface NewSigningKey extends StoredSigningKey {
  publicJwk: JWK;
  /** Seconds from now until it signs. */
  signsInS: number;
}

export function signingKeyStore({ knex }: SharedDb) {
  return {
    /** Serializes the creation of signing keys until the transaction ends. */
    async lock(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' signing keys'))`);
    },

    /** The newest key whose signing period has started. */
    async findCurrent(): Promise<StoredSigningKey | undefined> {
      return knex('signing_keys')
        .whereRaw('signs_from <= parley_now()')
        .orderBy('signsFrom', 'desc')
        .first('kid', 'privateJwkSealed');
    },

    /** Public parts of all keys that a valid token may carry, now or soon. */
    async listPublic(): Promise<JWK[]> {
      return knex('signing_keys')
        .whereRaw('verifies_until IS NULL OR verifies_until > parley_now()')
        .orderBy('signsFrom', 'desc')
        .pluck('publicJwk');
    },

    async insert(key: NewSigningKey): Promise<void> {
      await knex('signing_keys').insert({
        kid: key.kid,
        publicJwk: JSON.stringify(key.publicJwk),
        privateJwkSealed: key.privateJwkSealed,
        signsFrom: knex.raw(`parley_now() + ? * interval '1 second'`, [key.signsInS]),
      });
    },

    /** Limits how long, in seconds, all keys but `kid` verify. */
    async retireOthers(kid: string, verifiesForS: number): Promise<void> {
      await knex('signing_keys')
        .whereNot({ kid })
        .whereNull('verifiesUntil')
        .update({ verifiesUntil: knex.raw(`parley_now() + ? * interval '1 second'`, [verifiesForS]) });
    },

    /** Returns the sealed key for a purpose. Inserts `sealed` if there is none; concurrent callers get the same key. */
    async derivationKey(purpose: string, sealed: Buffer): Promise<Buffer> {
      await knex('derivation_keys').insert({ purpose, keySealed: sealed }).onConflict('purpose').ignore();
      const row = await knex('derivation_keys').where({ purpose }).first('keySealed');
      return row.keySealed;
    },
  };
}
