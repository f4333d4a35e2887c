import type { JsonSchemas } from '@parley/json-schema/json-schemas';
import { anyText, rule, text } from '@parley/kernel/input';
import { storageProblem } from '@parley/kernel/input-checks';
import { isJsonObject } from '@parley/kernel/json';
import type { Outbound } from '@parley/outbound/outbound';
import { singleLineProblem } from '@parley/text/single-line';
import { z } from 'zod';
import { type HttpMethod, methods, type SessionSource, sessionSources } from './custom-action.ts';
import { extraHeaders, headerNameProblem } from './extra-headers.ts';
import { maxUrlLength, urlTemplateProblem } from './url-template.ts';

/** Dependencies of the input checks. */
export interface ActionRules {
  outbound: Pick<Outbound, 'urlProblem'>;
  schemas: Pick<JsonSchemas, 'schemaProblems'>;
  /** The tenant that the processor time of schema checks is charged to. */
  tenantId?: number;
}

/** An HTTP method, accepted in upper or lower case and stored in upper case. */
const method = z
  .string()
  .transform((given) => given.toUpperCase())
  .pipe(z.enum(methods, `must be one of ${methods.join(', ')}`)) as z.ZodType<HttpMethod, string | null>;

/** Tenants cannot choose the sources that operators provision. */
export const sessionSource = z.enum(sessionSources, {
  error: ({ input }) => (input === null ? undefined : `must be one of ${sessionSources.join(', ')}`),
}) as z.ZodType<SessionSource, string>;

/** Headers that every call sets itself, for its body and idempotency key. */
const ownHeaders = new Set(['content-type', 'idempotency-key']);

export const secretHeaderName = z.string().check(
  rule((name) => {
    const own = ownHeaders.has(name.toLowerCase());
    return own ? `must not be ${[...ownHeaders].join(' or ')}` : headerNameProblem(name);
  }),
);

/** Returns the fields shared by the create and update inputs; the SDL documents them. */
export function actionFields(rules: Pick<ActionRules, 'schemas' | 'tenantId'>) {
  return z.object({
    name: text(200).check(rule(singleLineProblem)),
    url: anyText(maxUrlLength),
    method,
    description: anyText(2_000),
    argsSchema: argsSchema(rules),
    extraHeaders,
  });
}

function argsSchema({ schemas, tenantId }: Pick<ActionRules, 'schemas' | 'tenantId'>) {
  return z.unknown().check(({ value, issues }) => {
    if (value === null) return;
    const refuse = (message: string, path: string[]) => issues.push({ code: 'custom', message, input: value, path });
    const problems = schemas.schemaProblems(value, '', tenantId === undefined ? {} : { tenantId });
    for (const { path, message } of problems) refuse(message, path === '' ? [] : [path]);
    if (problems.length > 0) return;
    const unstorable = storageProblem(value);
    if (unstorable) refuse(unstorable, []);
    const type: unknown = isJsonObject(value) ? value['type'] : undefined;
    if (type !== undefined && ![type].flat().includes('object')) refuse('must be object, as arguments are', ['type']);
  }) as z.ZodType<Record<string, unknown> | null>;
}

/** Checks a `url`, which may have placeholders. */
export function urlRule({ outbound }: Pick<ActionRules, 'outbound'>) {
  return rule((url: string) => urlTemplateProblem(url, outbound.urlProblem));
}
