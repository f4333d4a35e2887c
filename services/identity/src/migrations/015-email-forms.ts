import type { Migration } from '@parley/postgres/database/types';
import { normalEmail } from '../accounts/email-address.ts';

/** Normalizes emails that were stored before all spellings of a mailbox had one form. */
export const emailForms: Migration = {
  name: '015-email-forms',
  async up(knex) {
    const { rows } = await knex.raw<{ rows: { id: number; email: string }[] }>(
      `SELECT id, email FROM users WHERE deleted_at IS NULL AND (email LIKE '%xn--%' OR email IS NOT NFC NORMALIZED) ORDER BY id`,
    );
    for (const { id, email } of rows) {
      // A mailbox that already has two accounts keeps both, because only its owner can decide which one to delete.
      await knex.raw(
        `UPDATE users SET email = :normal
          WHERE id = :id AND NOT EXISTS (SELECT FROM users WHERE email = :normal AND deleted_at IS NULL AND id <> :id)`,
        { id, normal: normalEmail(email) },
      );
    }
  },
};
