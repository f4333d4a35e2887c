import type { Environment } from '@parley/kernel/settings/config';
import { publicUrlSetting, voicePublicUrlSetting } from '@parley/kernel/settings/shared-settings';
import { publicPortSetting, voicePortSetting } from '@parley/units/settings';

const urls = [
  [publicUrlSetting.name, publicPortSetting.name],
  [voicePublicUrlSetting.name, voicePortSetting.name],
] as const;

/** Adds the addresses that clients on this machine use, if the environment contains a port but no address. */
export function withPublicUrls(env: Environment): Environment {
  const given = urls.flatMap(([url, port]) => {
    const value = env[port];
    return !env[url] && value && isPort(value) ? [[url, `http://localhost:${Number(value)}`]] : [];
  });
  return { ...env, ...Object.fromEntries(given) };
}

/**
 * Reports whether the value is a fixed port. Port 0 is replaced by a free port, which becomes known too late. An invalid port is reported
 * later, with all other settings.
 */
function isPort(value: string): boolean {
  return /^\d{1,5}$/u.test(value) && Number(value) > 0 && Number(value) < 65_536;
}
