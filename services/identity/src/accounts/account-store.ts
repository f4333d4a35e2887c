import { column, columnsOf, type RowOf, table } from '@parley/postgres/database/table';
import type { SharedDb } from '@parley/postgres/database/types';
import type { UserStatus } from './user.ts';

/** The columns that decide how a user may sign in. */
const signInMethods = table('users', {
  status: column<UserStatus>(),
  email: column<string | null>(),
  hasContact: column<boolean>({ sql: (user) => `coalesce(${user}.email, ${user}.phone_e164) IS NOT NULL` }),
  hasPassword: column<boolean>({ sql: (user) => `${user}.password_hash IS NOT NULL` }),
  hasTwoFactor: column<boolean>({ sql: (user) => `${user}.two_factor_secret_sealed IS NOT NULL` }),
  /** The subject of the linked identity at IDP_ONE. */
  idpOneSubject: column<string | null>(),
  /** Whether a code or link that was sent to the email was ever used. */
  emailProved: column<boolean>({ sql: (user) => `${user}.email_proved_at IS NOT NULL` }),
  emailProofRequired: column<boolean>(),
});

export type SignInMethods = RowOf<typeof signInMethods>;

const columns = columnsOf(signInMethods);

export function accountStore({ knex }: SharedDb) {
  const live = () => knex('users').whereNull('deletedAt');
  const now = knex.raw('parley_now()');

  return {
    /** Finds the account linked to the identity, else the account with the email. */
    async find(idpOneSubject: string, email: string | null): Promise<number | undefined> {
      const linked = await live().where({ idpOneSubject }).first('id');
      return (linked ?? (email === null ? undefined : await live().where({ email }).first('id')))?.id;
    },

    async lock(id: number): Promise<SignInMethods | undefined> {
      return live().where({ id }).forNoKeyUpdate().first(knex.raw(columns));
    },

    /**
     * Limits password sign-ins until the email is verified, and deletes the phone number that the account was created
     * with.
     */
    async requireEmailProof(id: number): Promise<void> {
      const noPhone = { phoneCode: null, phoneNumber: null, phoneE164: null, phoneNational: null };
      await live()
        .where({ id })
        .update({ ...noPhone, emailProofRequired: true, updatedAt: now });
    },
  };
}
