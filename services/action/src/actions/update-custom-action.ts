import type { TenantRequest } from '@parley/kernel/caller-request';
import { changedAction } from '../custom-actions/update-rules.ts';
import type { UpdateCustomActionInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { customActionStore } from './custom-action-store.ts';
import type { StoredAction } from './stored-action.ts';

/** Updates an action. @throws DomainError `notFound` if the action does not exist; `invalid` with every problem */
export async function updateCustomAction(
  ports: Ports,
  { caller, signal }: TenantRequest,
  input: UpdateCustomActionInput,
): Promise<StoredAction> {
  const { id } = input;
  const { stored, changed, cleared } = await ports.database.transact(
    caller.tenantId,
    async (db) => {
      const store = customActionStore(db);
      const found = await store.lock(id);
      const { changes, clearsCredential } = changedAction({ ...ports, tenantId: caller.tenantId }, found, input);
      const updated = await store.update(id, changes, clearsCredential !== null);
      return { stored: found, changed: updated, cleared: clearsCredential };
    },
    { lockQueue: { row: `custom action ${id}` }, signal },
  );
  if (cleared === 'MESSAGING') await ports.sending.messaging.drop(stored);
  return changed;
}
