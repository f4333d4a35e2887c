import type { SharedDb } from '@parley/postgres/database/types';
import type { JWK } from 'jose';

export interface StoredSigningKey {
  kid: string;
  privateJwkSealed: Buffer;
}

export interface NewSigningKey extends StoredSigningKey {
  publicJwk: JWK;
  signsInS: number;
}

export interface ListedSigningKey {
  kid: string;
  state: 'next' | 'signing' | 'verifying' | 'expired';
  createdAt: Date;
  signsFrom: Date;
  verifiesUntil: Date | null;
}

const state = `CASE
  WHEN verifies_until <= parley_now() THEN 'expired'
  WHEN signs_from > parley_now() THEN 'next'
  WHEN kid = (SELECT kid FROM signing_keys WHERE signs_from <= parley_now() ORDER BY signs_from DESC LIMIT 1) THEN 'signing'
  ELSE 'verifying' END AS state`;

export function signingKeyStore({ knex }: SharedDb) {
  const listed = () =>
    knex('signing_keys')
      .orderBy('signsFrom', 'desc')
      .select<ListedSigningKey[]>('kid', knex.raw(state), 'createdAt', 'signsFrom', 'verifiesUntil');

  return {
    list: async (): Promise<ListedSigningKey[]> => listed(),

    async get(kid: string): Promise<ListedSigningKey> {
      const [key] = await listed().where({ kid });
      if (!key) throw new Error(`key ${kid} was stored and is gone`);
      return key;
    },

    /** Serializes the creation of signing keys until the transaction ends. */
    async lock(): Promise<void> {
      await knex.raw(`SELECT pg_advisory_xact_lock(hashtext(current_schema() || ' signing keys'))`);
    },

    async findCurrent(): Promise<StoredSigningKey | undefined> {
      return knex('signing_keys')
        .whereRaw('signs_from <= parley_now()')
        .orderBy('signsFrom', 'desc')
        .first('kid', 'privateJwkSealed');
    },

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

    async retireOthers(kid: string, verifiesForS: number): Promise<void> {
      await knex('signing_keys')
        .whereNot({ kid })
        .whereNull('verifiesUntil')
        .update({ verifiesUntil: knex.raw(`parley_now() + ? * interval '1 second'`, [verifiesForS]) });
    },

    /** Inserts `sealed` if the purpose has no key. Returns the stored key, the same one for all concurrent callers. */
    async derivationKey(purpose: string, sealed: Buffer): Promise<Buffer> {
      await knex('derivation_keys').insert({ purpose, keySealed: sealed }).onConflict('purpose').ignore();
      const row = await knex('derivation_keys').where({ purpose }).first('keySealed');
      return row.keySealed;
    },
  };
}
