import { port, text } from '@parley/kernel/settings/setting-types';
import { setting } from '@parley/kernel/settings/settings';
import { serversFolderSetting, serversHostSetting } from '@parley/kernel/settings/shared-settings';

/** The settings of `scripts/talk`. */
export const talkSettings = {
  url: setting(
    'PARLEY_URL',
    text.default('http://localhost:4000/graphql'),
    'URL of the GraphQL endpoint that `scripts/talk` calls.',
  ),
  email: setting('PARLEY_EMAIL', text.default(''), 'Email address of the account that `scripts/talk` signs in with.', {
    without: 'a new account is registered',
  }),
  apiKey: setting('PARLEY_API_KEY', text.default(''), 'API key with which `scripts/talk --embed` starts sessions.', {
    secret: true,
    without: 'a new API key of a newly registered account',
  }),
  password: setting('PARLEY_PASSWORD', text.default(''), 'Password of the account that `PARLEY_EMAIL` names.', {
    secret: true,
    without: 'none',
  }),
};

/** The settings of the demo page of `scripts/up`. */
export const demoSettings = {
  port: setting(
    'DEMO_PORT',
    port.default(4300),
    'Port of the demo page of `scripts/up`, in development. If the port is taken, a free port is used.',
  ),
};

/** The settings that only commands read. */
export const commandSettings = {
  talk: talkSettings,
  demo: demoSettings,
  serversFolder: serversFolderSetting,
  serversHost: serversHostSetting,
  contractFolder: setting(
    'PARLEY_CONTRACT_DIR',
    text.default('../shared/contract'),
    'Folder of the contract with which `scripts/test` compares the API and `gateway/contract.json`. If the folder is absent, the API is compared with `gateway/contract.json` alone.',
  ),
  faultLogs: setting(
    'PARLEY_FAULT_LOGS',
    text.optional(),
    'Folder in which the fault tests keep the logs of all processes.',
    { without: 'the logs are removed after the test' },
  ),
  upgradeFrom: setting(
    'PARLEY_UPGRADE_FROM',
    text.optional(),
    'Commit, e.g. the tag of a release, with which the fault test of upgrades starts and to which the test goes back.',
    { without: 'the previous release; before the first release, the oldest commit that can be upgraded' },
  ),
};
