import { DomainError } from '@parley/kernel/errors';

export interface TenantBudgetOptions {
  /** Limit for all tenants together. */
  max: number;
  maxPerTenant: number;
  refusal: string;
}

export type TenantBudget = ReturnType<typeof tenantBudget>;

/** Limits an amount (bytes or calls) that this process holds at a time, in total and per tenant. */
export function tenantBudget({ max, maxPerTenant, refusal }: TenantBudgetOptions) {
  const ofTenants = new Map<number, number>();
  let inAll = 0;

  function add(tenantId: number, amount: number): void {
    inAll += amount;
    const held = (ofTenants.get(tenantId) ?? 0) + amount;
    if (held === 0) ofTenants.delete(tenantId);
    else ofTenants.set(tenantId, held);
  }

  return {
    /**
     * Takes an amount until the returned object is disposed.
     * @throws DomainError `tooManyRequests` if the tenant or the process would exceed its limit
     */
    hold(tenantId: number, amount: number): Disposable {
      const ofTenant = (ofTenants.get(tenantId) ?? 0) + amount;
      if (amount > 0 && (ofTenant > maxPerTenant || inAll + amount > max)) {
        throw new DomainError('tooManyRequests', refusal);
      }
      add(tenantId, amount);
      return { [Symbol.dispose]: () => add(tenantId, -amount) };
    },
  };
}

const mebibyte = 1024 * 1024;

export function imageBudget(): TenantBudget {
  const refusal = 'Too many images are being worked on; try again later';
  return tenantBudget({ max: 256 * mebibyte, maxPerTenant: 64 * mebibyte, refusal });
}

export function generationBudget(): TenantBudget {
  const refusal = 'Too many text generations are running; try again later';
  return tenantBudget({ max: 2_000, maxPerTenant: 100, refusal });
}
