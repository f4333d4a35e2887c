import type { SharedDb } from '@parley/postgres/database/types';

/** How long a ticket is stored: longer than any ticket is valid at the provider. */
const keptFor = "interval '1 day'";

export function seenTicketStore({ knex }: SharedDb) {
  return {
    /**
     * Records a ticket. Returns false if it was recorded before; of several concurrent calls, exactly one returns true.
     * Also deletes some old tickets.
     */
    async add(ticketSha256: Buffer): Promise<boolean> {
      await knex.raw(
        `DELETE FROM seen_tickets WHERE ticket_sha256 IN
           (SELECT ticket_sha256 FROM seen_tickets WHERE seen_at < parley_now() - ${keptFor}
             ORDER BY seen_at LIMIT 10 FOR UPDATE SKIP LOCKED)`,
      );
      const added = await knex('seen_tickets')
        .insert({ ticketSha256 })
        .onConflict('ticketSha256')
        .ignore()
        .returning('seenAt');
      return added.length > 0;
    },

    async remove(ticketSha256: Buffer): Promise<void> {
      await knex('seen_tickets').where({ ticketSha256 }).delete();
    },
  };
}
