import { DomainError } from '@parley/kernel/errors';

export type ImageBudget = ReturnType<typeof imageBudget>;

/** Bounds the bytes of images that calls of this process hold until they end; one tenant has a quarter. */
export function imageBudget(maxBytes = 256 * 1024 * 1024) {
  const ofTenants = new Map<number, number>();
  let inAll = 0;

  function add(tenantId: number, bytes: number): void {
    inAll += bytes;
    const left = (ofTenants.get(tenantId) ?? 0) + bytes;
    if (left === 0) ofTenants.delete(tenantId);
    else ofTenants.set(tenantId, left);
  }

  return {
    /** @throws DomainError `tooManyRequests` */
    hold(tenantId: number, images: readonly string[] = []): Disposable {
      const bytes = images.reduce((sum, { length }) => sum + length, 0);
      const ofTenant = (ofTenants.get(tenantId) ?? 0) + bytes;
      if (bytes > 0 && (ofTenant > maxBytes / 4 || inAll + bytes > maxBytes)) {
        throw new DomainError('tooManyRequests', 'Too many images are being worked on; try again later');
      }
      add(tenantId, bytes);
      return { [Symbol.dispose]: () => add(tenantId, -bytes) };
    },
  };
}
