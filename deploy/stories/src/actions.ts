import { createServer, type IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { createCallers, inTenant } from '@parley/kernel/caller';
import { listen } from '@parley/kernel/http/listen';
import { ringEntries } from '@parley/kernel/secrets/key-ring';
import { ActionServiceDefinition } from '@parley/protos/parley/action/v1/action';
import { AdminServiceDefinition } from '@parley/protos/parley/action/v1/admin';
import { rpcClient } from '@parley/rpc/client';
import type { ExecutionContext } from 'ava';
import type { OutboundCallDto } from '../../../services/action/src/generated/schema.ts';
import { restServer } from '../../../services/action/test/custom-actions/rest-server.ts';
import { type Script, scriptedServer } from '../../../services/action/test/mcp/scripted-server.ts';
import type { Client } from './client.ts';
import { pagesHost, type TestMesh } from './mesh.ts';
import type { AsJson } from './messages.ts';
import { operator } from './operator.ts';

/** Starts an MCP server that test meshes may call. It is closed after the test. */
export function mcpServer(t: ExecutionContext, script: Script = {}) {
  return scriptedServer(t, script, pagesHost);
}

/** Starts a REST server that test meshes may call. It is closed after the test. */
export function restApi(t: ExecutionContext, answer: Parameters<typeof restServer>[1]) {
  return restServer(t, answer, pagesHost);
}

/** Starts a REST server whose responses never end. */
export async function endlessServer(t: ExecutionContext, headers = { 'content-type': 'text/plain' }) {
  const chunk = Buffer.alloc(65_536, 'x');
  let [open, sent] = [0, 0];
  function* chunks() {
    for (;;) {
      sent += chunk.length;
      yield chunk;
    }
  }
  const { url } = await restApi(t, async (_request, response) => {
    open += 1;
    response.writeHead(200, headers);
    await pipeline(Readable.from(chunks()), response).catch(() => undefined);
    open -= 1;
  });
  return {
    url,
    /** Returns the number of responses that a client is still reading. */
    open: () => open,
    /** Returns the number of bytes of all responses, including those in socket buffers. */
    sent: () => sent,
  };
}

/** Creates a connector without connecting to its server. */
export async function createConnector(client: Client, input: object = {}): Promise<number> {
  const document = 'mutation ($input: CreateMcpConnectorInput!) { createMcpConnector(input: $input) { id } }';
  const given = { name: 'Tools', serverUrl: 'https://example.com/mcp', apiKey: 'key', ...input };
  return (await client.value<{ id: number }>(document, { input: given })).id;
}

export async function createAction(client: Client, input: object = {}): Promise<number> {
  const document = 'mutation ($input: CreateCustomActionInput!) { createCustomAction(input: $input) { id } }';
  const given = { name: 'Order', url: 'https://example.com/orders', ...input };
  return (await client.value<{ id: number }>(document, { input: given })).id;
}

type OutboundCall = AsJson<Omit<OutboundCallDto, '__typename'>>;

/** Returns the tenant's log of outbound calls, newest first. */
export function outboundCallsOf(client: Client): Promise<OutboundCall[]> {
  return client.value('{ outboundCalls { id at kind target name status durationMs bytes errorKind } }');
}

/** Returns functions that call the action service for a tenant, as the agent service does. */
export async function actionCalls(t: ExecutionContext, { settings, addresses }: TestMesh) {
  const keys = ringEntries.parse(settings['MESH_KEY']).map(({ key }) => key);
  const client = rpcClient({
    definition: ActionServiceDefinition,
    unit: 'action',
    address: () => addresses('action', 'rpc')[0] ?? '',
    callers: createCallers(keys),
  });
  await client.start();
  t.teardown(() => client.stop());
  const options = (tenantId: number) => ({
    caller: inTenant({ kind: 'service', service: 'agent', tenantId, requestId: 'stories' }),
    timeoutMs: 40_000,
  });
  const key = () => ({ turn: crypto.randomUUID(), call: '1.0', note: Buffer.of() });
  return {
    callAction: async (tenantId: number, actionId: number, given: object = {}) =>
      (await client.calls.callAction({ actionId, argumentsJson: '{}', key: key(), ...given }, options(tenantId)))
        .result,
    callTool: async (tenantId: number, connectorId: number, name: string, given: object = {}) =>
      (
        await client.calls.callTool(
          { tool: { connectorId, name }, argumentsJson: '{}', key: key(), ...given },
          options(tenantId),
        )
      ).result,
  };
}

/** Starts a server that is both a REST API and an MCP server. Its responses contain the credentials of the request. */
export async function echoingServer(t: ExecutionContext) {
  const seen: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const http = createServer(async (request, response) => {
    const { url = '', headers, method } = request;
    const body = await text(request);
    const message = url === '/mcp' && body !== '' ? (JSON.parse(body) as { id?: number; method: string }) : undefined;
    seen.push({ url, headers, body });
    const said = JSON.stringify({ authorized: headers.authorization, key: headers['x-key'], url });
    if (url !== '/mcp') return void response.writeHead(200, { 'content-type': 'application/json' }).end(said);
    if (method !== 'POST' || message?.id === undefined)
      return void response.writeHead(method === 'POST' ? 202 : 405).end();
    const results: Record<string, object> = {
      initialize: {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'echo', version: '1' },
      },
      'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: said }] },
    };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: results[message.method] }));
  });
  const url = `http://${await listen(http, 0, pagesHost)}`;
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url, seen };
}

/** Provisions actions that use partner credentials, as an operator does. */
export async function partnerActions(t: ExecutionContext, { settings, addresses }: TestMesh, tenantId: number) {
  const client = rpcClient({
    definition: AdminServiceDefinition,
    unit: 'action',
    address: () => addresses('action', 'rpc')[0] ?? '',
    callers: createCallers(Buffer.from(settings['OPERATOR_KEY'] ?? '', 'base64')),
  });
  await client.start();
  t.teardown(() => client.stop());
  const options = { caller: operator };
  return {
    /** Stores the tenant's credential for PARTNER_B, and creates an action that is called with it. */
    async create({ value, name, url }: { value: string; name: string; url: string }): Promise<number> {
      await client.calls.putPartnerCredential({ tenantId, partner: 'PARTNER_B', value }, options);
      const given = { tenantId, source: 'PARTNER_B', name, url };
      const { action } = await client.calls.createPartnerAction(given, options);
      if (!action) throw new Error('No action was made');
      return action.id;
    },
  };
}
