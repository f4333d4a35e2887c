import type { Migration } from '@parley/postgres/database/types';

/**
 * Repairs phone numbers that were given in digits of a script other than ASCII: `phone_number` was stored empty, `phone_national`
 * correctly.
 */
export const phoneDigits: Migration = {
  name: '004-phone-digits',
  async up(knex) {
    await knex.raw(`UPDATE users SET phone_number = phone_national WHERE phone_number = '' AND phone_national <> ''`);
  },
};
