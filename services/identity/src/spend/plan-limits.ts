import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { TenantPlan } from '../tenants/tenant.ts';

export type LimitsByPlan = Record<TenantPlan, z.output<typeof limits>>;

export const defaultPlanLimits: LimitsByPlan = {
  DEV: { monthlyLlmCapUsd: 10, knowledgeBases: 3, chunks: 5_000, storageMb: 100 },
  PRO: { monthlyLlmCapUsd: 200, knowledgeBases: 50, chunks: 250_000, storageMb: 10_000 },
  ENTERPRISE: { monthlyLlmCapUsd: 5_000, knowledgeBases: 1_000, chunks: 10_000_000, storageMb: 1_000_000 },
};

const maxUsd = 999_999_999;

/** Reports whether an amount is above 0, in whole cents, and small enough for the ledger's sums. */
export function isUsd(amount: number): boolean {
  return amount > 0 && amount <= maxUsd && /^\d+(\.\d{1,2})?$/u.test(String(amount));
}

export const notUsd = 'must be an amount above 0 in USD with at most two decimals';

const usd = z.number(notUsd).refine(isUsd, notUsd);
const notCount = 'must be a whole number above 0';
const count = z.int(notCount).positive(notCount);
const limits = z.strictObject({ monthlyLlmCapUsd: usd, knowledgeBases: count, chunks: count, storageMb: count });
const limitsByPlan = z.strictObject({ DEV: limits.partial(), PRO: limits.partial(), ENTERPRISE: limits.partial() });

/** The setting for a file that overrides limits of some plans. */
export const planLimitsFile = z
  .string()
  .optional()
  .transform((path, { issues }): LimitsByPlan => {
    if (path === undefined) return defaultPlanLimits;
    const refuse = (message: string) => issues.push({ code: 'custom', input: path, message });
    const file = readJson(path);
    if ('problem' in file) {
      refuse(file.problem);
      return defaultPlanLimits;
    }
    const { data = {}, error } = limitsByPlan.partial().safeParse(file.json, { error: problemOf });
    for (const issue of error?.issues ?? []) refuse(`${path}: ${[...issue.path, issue.message].join(' ')}`);
    return {
      DEV: { ...defaultPlanLimits.DEV, ...data.DEV },
      PRO: { ...defaultPlanLimits.PRO, ...data.PRO },
      ENTERPRISE: { ...defaultPlanLimits.ENTERPRISE, ...data.ENTERPRISE },
    } as LimitsByPlan;
  });

function readJson(path: string): { json: unknown } | { problem: string } {
  try {
    return { json: JSON.parse(readFileSync(path, 'utf8')) };
  } catch (error) {
    return { problem: error instanceof SyntaxError ? `${path} is not JSON` : `${path} cannot be read` };
  }
}

function problemOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') return `has no ${issue.keys.join(', ')}`;
  return issue.code === 'invalid_type' ? 'must be an object' : undefined;
}
