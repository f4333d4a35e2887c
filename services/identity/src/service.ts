import { createCallers } from '@parley/kernel/caller';
import { createSecretBox } from '@parley/kernel/secrets/secret-box';
import { announcer } from '@parley/live/key-value/announcements';
import { resealing } from '@parley/postgres/reseal';
import { credentialsChanged } from '@parley/protos/announcements';
import { AdminServiceDefinition } from '@parley/protos/parley/identity/v1/admin';
import { IdentityServiceDefinition } from '@parley/protos/parley/identity/v1/identity';
import { service } from '@parley/service/service';
import { separateRpc } from '@parley/service/service-definition';
import { subgraphOf } from '@parley/subgraph/subgraph-of';
import { adminRpc } from './admin-rpc.ts';
import { identityDeclaration } from './declaration.ts';
import { resolvers } from './graph/resolvers.ts';
import { idempotencyKeySweep } from './idempotency/sweep-idempotency-keys.ts';
import { createIdpOne } from './idp-one/idp-one.ts';
import { identityKeys } from './keys/identity-keys.ts';
import { createCarriers } from './messages/carriers.ts';
import { messageJobs } from './messages/send-message.ts';
import { createPasswords } from './passwords/passwords.ts';
import type { Ports } from './ports.ts';
import { identityRpc } from './rpc.ts';
import { sealedColumns } from './sealed-columns.ts';
import { loginLock } from './sign-ins/login-lock.ts';
import { createLedger } from './spend/ledger.ts';
import { spendLeases } from './spend/settle-lapsed-spend.ts';
import { spendMetrics } from './spend/spend-metrics.ts';

export const identity = service(identityDeclaration, {
  dependencies({ config, database, keyValue, log }): Ports {
    const box = createSecretBox(config.secretsKeys);
    const announce = announcer(keyValue, credentialsChanged, log);
    return {
      database,
      box,
      log,
      carriers: createCarriers(config.delivery),
      passwords: createPasswords(config.hashes),
      loginLock: loginLock(keyValue),
      idpOne: config.idpOne && createIdpOne(config.idpOne, log),
      keys: identityKeys(database, box),
      ledger: createLedger(database, config.settings),
      announce: (whose) => announce({ whose }),
      clock: () => new Date(),
      settings: config.settings,
    };
  },
  parts(ports, { log, metrics }) {
    spendMetrics(ports, metrics);
    return [
      { name: 'passwords', stop: () => ports.passwords.close() },
      { name: 'carriers', stop: async () => ports.carriers.close() },
      ports.keys,
      spendLeases(ports, log),
      idempotencyKeySweep(ports, log),
      resealing({ database: ports.database, box: ports.box, columns: sealedColumns, log, metrics }),
    ];
  },
  jobs: messageJobs,
  onTenantEnd: { nothingBecause: 'it deletes tenants itself, and ends their credentials in the same transaction' },
  rpc: {
    definition: IdentityServiceDefinition,
    implementation: identityRpc,
    separate(ports, { config: { operatorKey }, log }) {
      if (operatorKey) {
        const callers = createCallers(operatorKey, Date.now, 'AdminService takes calls signed with OPERATOR_KEY only');
        return separateRpc(AdminServiceDefinition, adminRpc(ports), callers);
      }
      log.info('no OPERATOR_KEY; AdminService is not served');
      return undefined;
    },
  },
  graph: subgraphOf({
    schema: new URL('schema.graphql', import.meta.url),
    resolvers,
  }),
});
