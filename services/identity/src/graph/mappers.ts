/** The objects that resolvers get, if they differ from the schema's types. `scripts/generate` reads the names. */
export type { MonthlySpend as ApiUsageSummaryDto } from '../spend/usage-store.ts';
