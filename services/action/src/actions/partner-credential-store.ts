import { rowsBy } from '@parley/postgres/database/rows';
import type { TenantDb } from '@parley/postgres/database/types';
import type { PartnerSource } from '../custom-actions/custom-action.ts';

/** A credential that the operator has provisioned, without its value. */
export interface PartnerCredential {
  product: PartnerSource;
  updatedAt: Date;
}

export function partnerTokenPlace({ tenantId, product }: { tenantId: number; product: string }): string {
  return `action.partner_credentials.token:${tenantId}:${product}`;
}

/** The tenant's partner credentials. */
export function partnerCredentialStore({ knex, tenantId }: TenantDb) {
  const rows = rowsBy(knex);
  return {
    async list(): Promise<PartnerCredential[]> {
      return rows('SELECT product, updated_at FROM partner_credentials WHERE tenant_id = :tenantId ORDER BY product', {
        tenantId,
      });
    },
    async findToken(product: PartnerSource): Promise<Buffer | undefined> {
      const [found] = await rows<{ tokenSealed: Buffer }>(
        'SELECT token_sealed FROM partner_credentials WHERE tenant_id = :tenantId AND product = :product',
        { tenantId, product },
      );
      return found?.tokenSealed;
    },
    /** @returns whether an earlier credential was replaced */
    async put(product: PartnerSource, tokenSealed: Buffer): Promise<boolean> {
      const replaced = (await this.findToken(product)) !== undefined;
      await rows(
        `INSERT INTO partner_credentials (tenant_id, product, token_sealed) VALUES (:tenantId, :product, :tokenSealed)
         ON CONFLICT (tenant_id, product) DO UPDATE SET token_sealed = excluded.token_sealed, updated_at = parley_now()`,
        { tenantId, product, tokenSealed },
      );
      return replaced;
    },
    /** @returns whether a credential was deleted */
    async remove(product: string): Promise<boolean> {
      const removed = await rows(
        'DELETE FROM partner_credentials WHERE tenant_id = :tenantId AND product = :product RETURNING product',
        { tenantId, product },
      );
      return removed.length > 0;
    },
    async removeAll(): Promise<void> {
      await rows('DELETE FROM partner_credentials WHERE tenant_id = :tenantId', { tenantId });
    },
  };
}
