import { AsyncLocalStorage } from 'node:async_hooks';
import { DomainError } from '@parley/kernel/errors';
import type { OutboundReason } from '@parley/outbound/outbound-errors';

export type HeldAnswers = ReturnType<typeof heldAnswers>;

interface Holder {
  tenantId: number;
  bytes: number;
}

/**
 * Limits the bytes of remote answers in this process's memory, per tenant and in total. Bytes count from their receipt until the work that
 * received them ends: a call, or the listing of tools. Once the total is exceeded, tenants above an equal share get no more bytes.
 */
export function heldAnswers({ maxBytes, maxTenantBytes }: { maxBytes: number; maxTenantBytes: number }) {
  /** Holders are stored by async context, because the MCP client sends additional requests for a call. */
  const holders = new AsyncLocalStorage<Holder>();
  const tenants = new Map<number, { bytes: number; holders: number }>();
  let all = 0;

  function leave({ tenantId, bytes }: Holder): void {
    const tenant = tenants.get(tenantId);
    if (!tenant) return;
    all -= bytes;
    tenant.bytes -= bytes;
    tenant.holders -= 1;
    if (tenant.holders === 0) tenants.delete(tenantId);
  }

  return {
    /** Runs `work`, and counts the bytes that it receives until `work` ends. */
    async holding<T>(tenantId: number, work: () => Promise<T>): Promise<T> {
      const holder = { tenantId, bytes: 0 };
      const tenant = tenants.get(tenantId) ?? { bytes: 0, holders: 0 };
      tenant.holders += 1;
      tenants.set(tenantId, tenant);
      try {
        return await holders.run(holder, work);
      } finally {
        leave(holder);
        holder.tenantId = Number.NaN; // bytes received after the end are not counted
      }
    },
    /** Adds received bytes to the work of the current async context. @throws DomainError `REMOTE_TOO_LARGE` if a limit is exceeded */
    take(bytes: number): void {
      const holder = holders.getStore();
      const tenant = holder && tenants.get(holder.tenantId);
      if (!tenant) return;
      holder.bytes += bytes;
      tenant.bytes += bytes;
      all += bytes;
      if (tenant.bytes > maxTenantBytes || (all > maxBytes && tenant.bytes > maxBytes / tenants.size)) throw tooMuch();
    },
    get bytes() {
      return all;
    },
  };
}

function tooMuch(): DomainError {
  const reason: OutboundReason = 'REMOTE_TOO_LARGE';
  return new DomainError('invalid', "Answers to the tenant's calls take too much memory at once", { reason });
}
