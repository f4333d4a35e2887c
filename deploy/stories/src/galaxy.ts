import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { serve } from '@hono/node-server';
import { createMockServer } from '@scalar/mock-server';
import type { ExecutionContext } from 'ava';
import { pagesHost } from './mesh.ts';

type Schema = Record<string, unknown> & { $ref?: string; properties?: Record<string, unknown>; required?: string[] };

interface Parameter {
  name: string;
  required?: boolean;
  schema: Schema;
}

interface Operation {
  operationId: string;
  summary: string;
  parameters?: { $ref: string }[];
  requestBody?: { content: Record<string, { schema: Schema }> };
}

/** The parts of an OpenAPI document that are used to create actions. */
interface Description {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, Parameter>; schemas: Record<string, Schema> };
}

/** The galaxy example API, as described in the package `@scalar/galaxy`. */
const description: Description = JSON.parse(
  readFileSync(fileURLToPath(import.meta.resolve('@scalar/galaxy/latest.json')), 'utf8'),
);

const methods = new Set(['get', 'post', 'put', 'delete']);

/**
 * A request that the galaxy server has matched to an operation. Requests that are refused because of missing credentials are not recorded.
 */
export interface GalaxyRequest {
  operationId: string;
  method: string;
  path: string;
  authorization: string | undefined;
}

/**
 * Starts a mock server of the galaxy API. The authors of the API's description have written this mock server. It checks credentials,
 * parameters and bodies against the description, and is closed after the test.
 */
export async function galaxyServer(t: ExecutionContext) {
  const requests: GalaxyRequest[] = [];
  const { fetch } = await createMockServer({
    document: structuredClone(description),
    logger: false,
    onRequest({ context: { req }, operation }) {
      const { operationId = '' } = operation;
      requests.push({ operationId, method: req.method, path: req.path, authorization: req.header('authorization') });
    },
  });
  const listening = Promise.withResolvers<AddressInfo>();
  const server = serve({ fetch, port: 0, hostname: pagesHost }, listening.resolve);
  t.teardown(() => void server.close());
  const { port } = await listening.promise;
  return { url: `http://${pagesHost}:${port}`, requests };
}

/**
 * Returns custom actions for the API's JSON operations, as a person would create them from the description. The actions have no
 * credentials.
 */
export function galaxyActions(url: string) {
  return Object.entries(description.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      const { operationId: name, summary, requestBody } = operation;
      const isJson = !requestBody || 'application/json' in requestBody.content;
      if (!methods.has(method) || !isJson) return [];
      return {
        name,
        description: summary,
        url: url + path,
        method: method.toUpperCase(),
        argsSchema: argsOf(operation),
      };
    }),
  );
}

/** Returns one schema for the parameters and the properties of the body together. Referenced schemas are included as `$defs`. */
function argsOf({ parameters = [], requestBody }: Operation): object {
  const params = parameters.map(({ $ref }) => resolved(description.components.parameters, $ref));
  const given = requestBody?.content['application/json']?.schema ?? {};
  const body = given.$ref === undefined ? given : resolved(description.components.schemas, given.$ref);
  const schema = {
    type: 'object',
    ...body,
    properties: { ...body.properties, ...Object.fromEntries(params.map((each) => [each.name, each.schema])) },
    required: [...(body.required ?? []), ...params.filter(({ required }) => required).map(({ name }) => name)],
    $defs: description.components.schemas,
  };
  return JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/'));
}

function resolved<T>(components: Record<string, T>, ref: string): T {
  const found = components[ref.split('/').at(-1) ?? ''];
  if (found === undefined) throw new Error(`The description has no ${ref}`);
  return found;
}
