import type { TenantCaller } from '@parley/kernel/caller';
import { invalid, notFound } from '@parley/kernel/errors';
import { parseId } from '@parley/kernel/row-id';
import type { Ports } from './ports.ts';

const most = 5;

/** @throws DomainError `notFound`: one is absent, deleted or another tenant's; `invalid` */
export async function checkKnowledgeBases(
  { database }: Pick<Ports, 'database'>,
  { tenantId }: TenantCaller,
  given: readonly number[],
): Promise<void> {
  if (given.length > most) throw invalid({ path: 'knowledge_base_ids', message: `must have at most ${most} ids` });
  const ids = given.filter((id) => parseId(id) !== undefined);
  const live = await database.read(tenantId, ({ knex }) =>
    knex('knowledge_bases').where({ tenantId }).whereIn('id', ids).whereNull('deletedAt').pluck('id'),
  );
  const absent = given.find((id) => !live.includes(id));
  if (absent !== undefined) throw notFound('Knowledge base', absent);
}
