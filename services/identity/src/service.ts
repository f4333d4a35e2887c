import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { outboxRelay } from '@parley/chassis/events/relay';
import { subgraph } from '@parley/chassis/graph/subgraph';
import { createLogger } from '@parley/chassis/log';
import { createMetrics } from '@parley/chassis/metrics';
import { opsServer } from '@parley/chassis/ops';
import { rpcServer } from '@parley/chassis/rpc/server';
import { createSecretBox } from '@parley/chassis/secret-box';
import { databasePart, type Surroundings } from '@parley/chassis/surroundings';
import { type Unit, unit } from '@parley/chassis/unit';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { createApp } from './app.ts';
import type { IdentityConfig } from './config.ts';
import { announceCredentials } from './credentials-changed.ts';
import type { IdentityContext } from './graph/context.ts';
import { resolvers } from './graph/resolvers.ts';
import { identitySchema } from './identity-schema.ts';
import { loginLock } from './login-lock.ts';
import { ownKeys } from './own-keys.ts';
import { createPasswords } from './passwords.ts';
import type { Ports } from './ports.ts';
import { identityRpc } from './rpc.ts';

const name = 'identity';

/** People, tenants and credentials: a subgraph, and the gRPC that the mesh asks who somebody is. */
export function identity(config: IdentityConfig, around: Surroundings): Unit {
  const { host, callers, addresses, development } = around;
  const log = createLogger(name);
  const metrics = createMetrics(name);
  const database = around.database(identitySchema);
  const box = createSecretBox(config.secretsKeys);
  const passwords = createPasswords(config.hashes);
  const ports: Ports = {
    database,
    box,
    passwords,
    loginLock: loginLock(around.keyValue),
    keys: ownKeys(database, box),
    announce: announceCredentials(around.keyValue, log),
    clock: () => new Date(),
    settings: config.settings,
  };
  const app = createApp(ports);

  const self: Unit = unit(name, [
    opsServer({
      unit: name,
      host,
      port: config.opsPort,
      metrics,
      ready: () => self.ready(),
      onListening: (url) => addresses.announce(name, 'ops', url),
    }),
    databasePart(database, around),
    { name: 'passwords', start: async () => undefined, stop: () => passwords.close() },
    ports.keys,
    outboxRelay({ database, bus: around.eventBus, soleOwner: around.soleOwner, log, metrics }),
    rpcServer({
      unit: name,
      host,
      port: config.rpcPort,
      callers,
      log,
      metrics,
      services: (server) => {
        server.add(IdentityServiceDefinition, identityRpc(app));
      },
      reflection: development ? { image: protoImage(), services: [IdentityServiceDefinition.fullName] } : undefined,
      onListening: (address) => addresses.announce(name, 'rpc', address),
    }),
    subgraph<IdentityContext>({
      unit: name,
      host,
      port: config.graphPort,
      typeDefs: readFileSync(new URL('./schema.graphql', import.meta.url), 'utf8'),
      resolvers,
      context: (caller, _budget, gone) => ({ app, caller, gone }),
      callers,
      log,
      metrics,
      onListening: (url) => addresses.announce(name, 'graph', url),
    }),
  ]);
  return self;
}

function protoImage(): Uint8Array {
  return readFileSync(fileURLToPath(import.meta.resolve('@parley/protos/image.binpb')));
}
