import type { TenantDb } from '@parley/postgres/database/types';

export function transcriptPartStore({ knex, tenantId }: TenantDb) {
  const mine = () => knex('transcript_parts').where({ tenantId });
  return {
    async put(sessionId: number, part: number, lines: string): Promise<void> {
      await knex('transcript_parts')
        .insert({ tenantId, sessionId, part, lines })
        .onConflict(['tenantId', 'sessionId', 'part'])
        .merge(['lines']);
    },
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
