import type { Migration } from '@parley/postgres/database/types';

/** National numbers that were given in digits of another script were stored as nothing at all; their significant digits were not. */
export const phoneDigits: Migration = {
  name: '004-phone-digits',
  async up(knex) {
    await knex.raw(`UPDATE users SET phone_number = phone_national WHERE phone_number = '' AND phone_national <> ''`);
  },
};
