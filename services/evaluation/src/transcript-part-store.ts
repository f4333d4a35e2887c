import type { TenantDb } from '@parley/postgres/database/types';

/** The parts of one tenant's long transcripts. */
export function transcriptPartStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex('transcript_parts').where({ tenantId });
  return {
    /** Stores a part, or the same once more. */
    async put(sessionId: number, part: number, lines: string): Promise<void> {
      await knex('transcript_parts')
        .insert({ tenantId, sessionId, part, lines })
        .onConflict(['tenantId', 'sessionId', 'part'])
        .merge(['lines']);
    },
    /** The first so many parts of a session's transcript as one JSON array. */
    async join(sessionId: number, parts: number): Promise<string> {
      const rows: { lines: string }[] = await mine()
        .where({ sessionId })
        .where('part', '<', parts)
        .orderBy('part')
        .select('lines');
      return `[${rows.map(({ lines }) => lines.slice(1, -1)).join(',')}]`;
    },
  };
}
