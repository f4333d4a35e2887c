/** In the ledger, whose lock of this id is also that of what tenants share, the platform in place of a tenant: what operators cause is charged to none, and bounded by the platform's ceiling alone. */
export const platformTenant = 0;
