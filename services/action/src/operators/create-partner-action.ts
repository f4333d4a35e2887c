import type { CallerRequest } from '@parley/kernel/caller-request';
import { invalid } from '@parley/kernel/errors';
import { parseJson } from '@parley/kernel/json';
import type { CreatePartnerActionRequest } from '@parley/protos/parley/action/v1/admin';
import { insertAction } from '../actions/create-custom-action.ts';
import type { StoredAction } from '../actions/stored-action.ts';
import { newPartnerAction } from '../custom-actions/create-rules.ts';
import { partnerSources } from '../custom-actions/custom-action.ts';
import type { Ports } from '../ports.ts';
import { knownTenant } from './known-tenant.ts';
import { audit } from './operator-audit.ts';
import { partner } from './partner-credentials.ts';

/**
 * Creates an action that uses the tenant's partner credential. @throws DomainError `invalid` with every problem; `notFound` if the tenant
 * does not exist
 */
export async function createPartnerAction(
  ports: Ports,
  request: CallerRequest,
  { tenantId, source, name, url, method, description, schema: given }: CreatePartnerActionRequest,
): Promise<StoredAction> {
  await knownTenant(ports, request, tenantId);
  const { data: product } = partner.safeParse(source);
  if (!product) throw invalid({ path: 'source', message: `must be one of ${partnerSources.join(', ')}` });
  const argsSchema = given === '' ? null : parseJson(given);
  if (argsSchema === undefined) throw invalid({ path: 'schema', message: 'must be JSON' });
  const fields = { name, url, method: method || null, description: description || null, argsSchema };
  const made = newPartnerAction({ ...ports, tenantId }, product, fields);
  return ports.database.transact(tenantId, async (db) => {
    const action = await insertAction(ports, db, made);
    const facts = { action: action.id, source: product, method: action.method, url };
    await audit(db, request.caller, { action: 'create-action', facts });
    return action;
  });
}
