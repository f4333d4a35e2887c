import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { Supergraph } from '@apollo/federation-internals';
import type { GraphQLResolverMap } from '@apollo/subgraph/dist/schema-helper/index.js';
import { type Caller, createCallers } from '@parley/kernel/caller';
import { listen } from '@parley/kernel/http/listen';
import { createAddresses } from '@parley/kernel/processes/addresses';
import type { Part } from '@parley/kernel/processes/unit';
import { createSessionTokens, type SessionTokenOptions } from '@parley/kernel/secrets/session-token';
import type { Environment } from '@parley/kernel/settings/config';
import { createLogger } from '@parley/kernel/telemetry/log';
import { createMetrics } from '@parley/kernel/telemetry/metrics';
import type { MeshOptions } from '@parley/kernel/tls/mesh';
import { announcer } from '@parley/live/key-value/announcements';
import type { KeyValue } from '@parley/live/key-value/key-value';
import { memoryKeyValue } from '@parley/live/key-value/memory-key-value';
import { credentialsChanged } from '@parley/protos/announcements';
import type { CredentialsChanged } from '@parley/protos/parley/identity/v1/announcements';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import {
  SubscriptionServiceDefinition,
  type SubscriptionServiceImplementation,
} from '@parley/protos/parley/live/v1/subscriptions';
import { SessionServiceDefinition } from '@parley/protos/parley/session/v1/session';
import { type MeshContext, type RpcServerOptions, rpcServer } from '@parley/rpc/server';
import { type GraphContext, subgraph } from '@parley/subgraph/subgraph';
import { testDependencies } from '@parley/testing/service-harness';
import { stubRpc } from '@parley/testing/stub-rpc';
import type { ExecutionContext } from 'ava';
import { readGatewayConfig } from '../../src/config.ts';
import { readSupergraph } from '../../src/graph/supergraph.ts';
import { gatewayOf } from '../../src/service.ts';
import { identityScript, publicUrl } from './identity-script.ts';
import { sessionScript } from './session-script.ts';

/**
 * Apollo's schema models, which are immutable. They are shared, because each gateway needs one and building it takes longer than
 * most tests.
 */
const supergraphs = new Map<string, Supergraph>();
const { build } = Supergraph;
Supergraph.build = (sdl, options) => {
  const key = String(sdl);
  const supergraph = supergraphs.get(key) ?? build(sdl, options);
  supergraphs.set(key, supergraph);
  return supergraph;
};

type SubgraphName = string;
type RpcName = 'agent' | 'identity' | 'session';
type Subscriptions = SubscriptionServiceImplementation<MeshContext>;
export type Resolvers = GraphQLResolverMap<GraphContext>;

export interface GatewayMeshOptions {
  env?: Environment;
  /** Resolvers by subgraph. A root field without a resolver is null. */
  resolvers?: Partial<Record<SubgraphName, Resolvers>>;
  /** Servers of the test that replace subgraphs, by name. */
  graphUrls?: Partial<Record<SubgraphName, string>>;
  /** Called before each subscription to announcements. An error thrown here fails the subscription. */
  onSubscribe?: () => void;
  /** A session service of the previous version, without streams of subscriptions. */
  oldSession?: boolean;
  /** Additional directives of an operation by its name, e.g. `@longBody`. */
  directives?: Readonly<Record<string, string>>;
  /** Replaces `subscriptionStarts.longestMs` of the config. */
  longestStartMs?: number;
  /** The address that the gateway listens on. Default: 127.0.0.1. */
  host?: string;
  /** Transport between the gateway and the services, such as mutual TLS. */
  mesh?: MeshOptions;
  /** Whether the gateway has a different MESH_KEY. */
  otherMeshKey?: boolean;
}

export interface Asked {
  /** Headers to send in addition to `x-app-platform: customer`, or to replace it. */
  headers?: Record<string, string>;
  token?: string;
  apiKey?: string;
  variables?: Record<string, unknown>;
  /** The URL of the gateway. Default: the first gateway. */
  at?: string;
}

export interface GraphAnswer {
  status: number;
  headers: Headers;
  text: string;
  data: Record<string, unknown> | null | undefined;
  errors: { message: string; path?: (string | number)[]; extensions: Record<string, unknown> }[] | undefined;
}

export type GatewayMesh = Awaited<ReturnType<typeof gatewayMesh>>;

/** Starts a gateway on free ports with scripted subgraphs and gRPC services, over real connections. */
export async function gatewayMesh(t: Pick<ExecutionContext, 'teardown'>, options: GatewayMeshOptions = {}) {
  const log = createLogger('test');
  const meshKey = randomBytes(32);
  const callers = createCallers(meshKey);
  const addresses = createAddresses({ AGENT_RPC_URL: '127.0.0.1:1' });
  const memory = memoryKeyValue();
  const keyValue: KeyValue = {
    ...memory,
    async subscribe(channel, handler) {
      options.onSubscribe?.();
      return memory.subscribe(channel, handler);
    },
  };
  const identity = await identityScript();
  const session = sessionScript();
  /** Requests that reached a subgraph, in order. */
  const reached: { subgraph: SubgraphName; caller: Caller }[] = [];
  const { mesh } = options;
  const given = testDependencies({
    mesh,
    keyValue,
    addresses,
    callers: options.otherMeshKey ? createCallers(randomBytes(32)) : callers,
    host: options.host ?? '127.0.0.1',
    soleOwner: true,
  });

  const running = new Set<Part>();
  async function start(part: Part): Promise<Part> {
    await part.start();
    running.add(part);
    return part;
  }
  async function stop(part: Part): Promise<void> {
    if (running.delete(part)) await part.stop();
  }
  t.teardown(async () => {
    for (const part of [...running].toReversed()) await stop(part);
  });

  function subgraphOf(name: SubgraphName, port = 0, onListening = announceGraph(name)): Part {
    return subgraph<GraphContext>({
      unit: name,
      port,
      typeDefs: readFileSync(new URL(`../../../services/${name}/src/schema.graphql`, import.meta.url), 'utf8'),
      resolvers: options.resolvers?.[name] ?? {},
      context: (request) => {
        reached.push({ subgraph: name, caller: request.caller });
        return request;
      },
      callers,
      mesh,
      log,
      metrics: createMetrics(name),
      onListening,
    });
  }
  function announceGraph(name: SubgraphName) {
    return (url: string) => addresses.announce(name, 'graph', options.graphUrls?.[name] ?? url);
  }
  const addSession: RpcServerOptions['services'] = (server) => {
    server.add(SessionServiceDefinition, session.rpc);
    if (!options.oldSession) server.add(SubscriptionServiceDefinition, session.subscriptions);
  };
  const serve: Record<RpcName, RpcServerOptions['services']> = {
    identity: (server) => server.add(IdentityServiceDefinition, identity.rpc),
    session: addSession,
    agent: (server) =>
      server.add(SubscriptionServiceDefinition, stubRpc<Subscriptions>(SubscriptionServiceDefinition, {})),
  };
  function rpcOf(name: RpcName, port = 0): Part {
    return rpcServer({
      unit: name,
      port,
      callers,
      mesh,
      log,
      metrics: createMetrics(name),
      drainTimeoutMs: 1_000,
      services: serve[name],
      onListening: (address) => addresses.announce(name, 'rpc', address),
    });
  }

  const composedOf = [...(await readSupergraph()).matchAll(/@join__graph\(name: "(\w+)"/gu)];
  for (const [, name = ''] of composedOf) {
    const isAsked = options.resolvers?.[name] ?? options.graphUrls?.[name];
    const onDemand = () => startedOnDemand(`${name} graph`, (tell) => subgraphOf(name, 0, tell), announceGraph(name));
    await start(isAsked ? subgraphOf(name) : onDemand());
  }
  await start(rpcOf('identity'));
  await start(rpcOf('session'));
  await start(rpcOf('agent'));
  const tokenKey = randomBytes(32);
  const config = readGatewayConfig({
    GATEWAY_PORT: '0',
    PARLEY_PUBLIC_URL: publicUrl,
    AVATAR_TOKEN_KEYS: `t1:${tokenKey.toString('base64')}`,
    // The tests of a file and their gateways share one event loop, which may be busy for longer than the default of 3 seconds.
    GATEWAY_SOCKET_INIT_TIMEOUT_MS: '60000',
    ...options.env,
  });
  config.subscriptionStarts.longestMs = options.longestStartMs ?? config.subscriptionStarts.longestMs;
  async function readSdl(): Promise<string> {
    const sdl = await readSupergraph();
    return Object.entries(options.directives ?? {}).reduce(
      (text, [operation, added]) => text.replace(new RegExp(`^  ${operation}\\b.*`, 'm'), `$& ${added}`),
      sdl,
    );
  }
  const self = await start(gatewayOf(readSdl).unit(config, given));
  const base = addresses.of('gateway', 'public');

  async function post(body: string, headers: Record<string, string> = {}, at = base): Promise<GraphAnswer> {
    const response = await fetch(`${at}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', ...headers },
      body,
    });
    const text = await response.text();
    const { data, errors } = JSON.parse(text) as GraphAnswer;
    return { status: response.status, headers: response.headers, text, data, errors };
  }

  return {
    base,
    url: `${base}/graphql`,
    identity,
    session,
    reached,
    callers,
    meshKey,
    keyValue,
    addresses,
    /** Stops the gateway or the named service, e.g. `agent graph`. */
    async stop(name = self.name) {
      const part = [...running].find((each) => each.name === name);
      if (part) await stop(part);
    },
    /** Restarts a stopped gRPC service on its old address. */
    restartRpc: (name: 'identity' | 'session') => start(rpcOf(name, portOf(addresses.of(name, 'rpc')))),
    restartGraph: (name: SubgraphName) => start(subgraphOf(name, portOf(addresses.of(name, 'graph')))),
    post,
    ask: (query: string, { variables, token, apiKey, headers = {}, at }: Asked = {}) =>
      post(
        JSON.stringify({ query, variables }),
        {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(apiKey !== undefined && { 'x-api-key': apiKey }),
          ...headers,
        },
        at,
      ),
    /** Starts another gateway for the same services; returns its URL. */
    async secondGateway(): Promise<string> {
      let second = '';
      const announce = (_unit: string, server: string, address: string) => {
        if (server === 'public') second = address;
      };
      await start(gatewayOf(readSdl).unit(config, { ...given, addresses: { ...addresses, announce } }));
      return second;
    },
    /** Returns a token of a session and sets the session's status to ACTIVE. */
    sessionToken(
      sessionId: number,
      { tenantId = 1, ...how }: SessionTokenOptions & { tenantId?: number } = {},
    ): string {
      session.statuses.set(sessionId, 'ACTIVE');
      const tokens = createSessionTokens([{ id: 't1', key: tokenKey }], how);
      return tokens.mint({ audience: 'session', tenantId, sessionId }).token;
    },
    voiceToken: () => createSessionTokens([{ id: 't1', key: tokenKey }]).mint({ audience: 'voice', tenantId: 1 }).token,
    /** Announces a change as identity does; undefined announces a change of an unknown kind. */
    announce: (whose: CredentialsChanged['whose']) => announcer(keyValue, credentialsChanged, log)({ whose }),
  };
}

/**
 * A server that starts the subgraph behind it at the first request. Most tests call few subgraphs, and building the schema of a subgraph
 * takes longer than most tests.
 */
function startedOnDemand(
  name: string,
  partOf: (onListening: (url: string) => void) => Part,
  onListening: (url: string) => void,
): Part {
  let started: Promise<string> | undefined;
  let behind: Part | undefined;
  async function startBehind(): Promise<string> {
    const { promise, resolve } = Promise.withResolvers<string>();
    behind = partOf(resolve);
    await behind.start();
    return promise;
  }
  const front = createServer(async (asked, answer) => {
    const { method, url = '/', headers } = asked;
    started ??= startBehind();
    const onward = request(new URL(url, await started), { method, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    onward.on('error', () => answer.destroy());
    answer.on('close', () => onward.destroy());
    asked.pipe(onward);
  });
  return {
    name,
    async start() {
      onListening(`http://${await listen(front)}`);
    },
    async stop() {
      await behind?.stop();
      front.closeAllConnections();
      await front[Symbol.asyncDispose]();
    },
  };
}

function portOf(address: string): number {
  return Number(/:(\d+)\/?$/.exec(address)?.[1]);
}

export function codesOf({ errors }: GraphAnswer): unknown[] {
  return (errors ?? []).map(({ extensions }) => extensions.code);
}
