import type { Migration } from '@parley/postgres/database/types';

/**
 * Adds a function that returns the newest messages of a session, up to a given exchange. If sessions have hundreds of messages on average,
 * the planner underestimates how many rows match, and would read and sort a whole long session by a bitmap scan. The plan within the
 * function always follows the index `messages_by_exchange`, for as many rows as are wanted.
 */
export const newestMessages: Migration = {
  name: '007-newest-messages',
  async up(knex) {
    await knex.raw(`
      CREATE FUNCTION newest_messages(of_tenant integer, of_session integer, up_to_exchange integer, most integer)
        RETURNS TABLE (role text, text text, exchange_index integer, token_estimate integer)
        LANGUAGE plpgsql STABLE ROWS 200 SET enable_bitmapscan TO off AS $$
        #variable_conflict use_column
        BEGIN
          RETURN QUERY SELECT role, text, exchange_index, token_estimate FROM messages
            WHERE tenant_id = of_tenant AND session_id = of_session AND exchange_index <= up_to_exchange
            ORDER BY exchange_index DESC, role LIMIT most;
        END $$`);
  },
};
