import { readFileSync } from 'node:fs';
import { parseJson } from '@parley/kernel/json';
import { z } from 'zod';
import { methods, partnerSources, sessionSources } from './custom-actions/custom-action.ts';

/** An operation of a partner's API, certified by the operator; a template for actions. */
export type CertifiedOperation = z.output<typeof operation>;

const text = (max: number) => z.string().trim().min(1).max(max);
const sources = ['MESSAGING_TENANT', ...partnerSources, ...sessionSources] as const;

const operation = z.strictObject({
  key: text(100),
  name: text(200),
  description: text(2_000)
    .nullish()
    .transform((given) => given ?? null),
  method: z.enum(methods),
  url: text(2_000),
  argsSchema: z
    .record(z.string(), z.unknown())
    .nullish()
    .transform((given) => given ?? null),
  compatibleCredentialSources: z.array(z.enum(sources)),
});

const catalogue = z.array(operation).check(({ value, issues }) => {
  const keys = value.map(({ key }) => key);
  for (const key of new Set(keys.filter((each, n) => keys.indexOf(each) !== n)))
    issues.push({ code: 'custom', input: value, message: `has the key ${key} twice` });
});

/** Reads the catalogue file that the setting names. Entries are sorted by key. */
export const certifiedOperationsFile = z
  .string()
  .optional()
  .transform((path, { issues }): CertifiedOperation[] => {
    if (path === undefined) return [];
    const refuse = (message: string) => issues.push({ code: 'custom', input: path, message: `${path} ${message}` });
    const file = textOf(path);
    if (file === undefined) refuse('cannot be read');
    const json = parseJson(file ?? '[]');
    if (json === undefined) refuse('is not JSON');
    const { data = [], error } = catalogue.safeParse(json ?? []);
    for (const { path: at, message } of error?.issues ?? []) refuse([at.join('.'), message].join(' '));
    return data.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  });

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
