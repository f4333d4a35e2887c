import { defaultMaxAnswerBytes } from '@parley/kernel/answer-budget';
import { type Environment, readSettings } from '@parley/kernel/settings/config';
import { checkOperatorKey } from '@parley/kernel/settings/operator-key';
import { byteCount, leaseMs, positiveInt } from '@parley/kernel/settings/setting-types';
import { type Settings, setting, type ValuesOf } from '@parley/kernel/settings/settings';
import {
  fetchedUrl,
  idpOneSettings,
  operatorKeySetting,
  outboundSettings,
  portSettings,
  secretsKeysSetting,
} from '@parley/kernel/settings/shared-settings';
import { certifiedOperationsFile } from './certified-operations.ts';

export const actionSettings = {
  secretsKeys: secretsKeysSetting,
  operatorKey: operatorKeySetting,
  limits: {
    callMs: setting(
      'ACTION_CALL_MS',
      positiveInt.default(30_000),
      'How long a call may take, the wait for its turn included.',
    ),
    answerBytes: setting(
      'ACTION_ANSWER_BYTES',
      byteCount.default(1_048_576),
      "Bytes of an action's answer (`REMOTE_TOO_LARGE`), and of a tool's result that are kept.",
    ),
    heldBytes: setting(
      'ACTION_HELD_BYTES',
      byteCount.default(134_217_728),
      'Bytes of answers that one process holds at once; beyond, tenants with more than an equal share get `REMOTE_TOO_LARGE`.',
    ),
    heldTenantBytes: setting(
      'ACTION_HELD_TENANT_BYTES',
      byteCount.default(33_554_432),
      'The same, of one tenant (`REMOTE_TOO_LARGE`).',
    ),
    keptBytes: setting(
      'ACTION_KEPT_BYTES',
      byteCount.default(268_435_456),
      'Bytes of calls of one tenant that are kept for 24 hours; beyond, results are kept without a long body.',
    ),
    listKeptMs: setting(
      'ACTION_TOOL_LIST_KEPT_MS',
      positiveInt.default(60_000),
      'How long the tools of a connector are kept before its server is asked again.',
    ),
    describeMs: setting(
      'ACTION_DESCRIBE_MS',
      positiveInt.default(3_500),
      'How long a turn waits at most for the tools of its connectors; it goes on without those that have not answered.',
    ),
    callsAtOnce: setting(
      'ACTION_CALLS_AT_ONCE',
      positiveInt.default(1_024),
      'Calls that one process makes at once, most of which wait for an answer; more wait, fairly by tenant.',
    ),
    callsPerTenant: setting('ACTION_CALLS_PER_TENANT', positiveInt.default(24), 'The same, of one tenant.'),
    callsPerTarget: setting(
      'ACTION_CALLS_PER_TARGET',
      positiveInt.default(8),
      'The same, to one connector or one custom action.',
    ),
    callsWaiting: setting(
      'ACTION_CALLS_WAITING',
      positiveInt.default(512),
      'Calls of one tenant that may wait in one process (`TOO_MANY_CALLS`).',
    ),
    connectors: setting('ACTION_MAX_CONNECTORS', positiveInt.default(100), 'Connectors of one tenant (`BAD_REQUEST`).'),
    actions: setting('ACTION_MAX_ACTIONS', positiveInt.default(500), 'Custom actions of one tenant (`BAD_REQUEST`).'),
    logDays: setting('ACTION_LOG_DAYS', positiveInt.default(30), 'Days for which a tenant can see its calls.'),
    leaseMs: setting(
      'ACTION_LEASE_MS',
      leaseMs.default(15_000),
      'After so long without a sign of the process that makes a call, the call is `CALL_INTERRUPTED`.',
    ),
  },
  messaging: {
    china: setting(
      'MESSAGING_URL_CN',
      fetchedUrl.optional(),
      "Base URL of the messaging product for the region `REGION_CN`: an app's credentials are exchanged for a token below it.",
      { without: 'such actions are `CREDENTIAL_UNAVAILABLE`' },
    ),
    international: setting('MESSAGING_URL_INTL', fetchedUrl.optional(), 'The same for `REGION_INTL`.', {
      without: 'such actions are `CREDENTIAL_UNAVAILABLE`',
    }),
  },
  idpOne: idpOneSettings,
  certifiedOperations: setting(
    'CERTIFIED_OPERATIONS_FILE',
    certifiedOperationsFile,
    'A JSON file with the catalogue that `certifiedOperations` answers: a list of objects with `key`, `name`, `description`, `method`, `url`, `argsSchema`, `compatibleCredentialSources`.',
    { without: 'an empty catalogue' },
  ),
  maxAnswerBytes: setting(
    'ACTION_MAX_ANSWER_BYTES',
    positiveInt.default(defaultMaxAnswerBytes),
    'Bytes of one answer of the subgraph (`ANSWER_TOO_LARGE`).',
  ),
  outbound: outboundSettings,
  ...portSettings('action', ['rpc', 'graph', 'ops']),
} satisfies Settings;

export type ActionConfig = ValuesOf<typeof actionSettings>;
export type ActionLimits = ActionConfig['limits'];

export function readActionConfig(env: Environment): ActionConfig {
  const config = readSettings(env, actionSettings);
  checkOperatorKey(env, config.operatorKey);
  return config;
}
