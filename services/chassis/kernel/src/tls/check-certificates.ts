import { type Environment, SettingsError } from '../settings/config.ts';

/**
 * @throws SettingsError if a production process would not verify certificates. Node itself reads this variable, so it is not declared as a
 * setting.
 */
export function checkCertificates({ NODE_ENV, NODE_TLS_REJECT_UNAUTHORIZED }: Environment): void {
  if (NODE_ENV !== 'production' || NODE_TLS_REJECT_UNAUTHORIZED !== '0') return;
  throw new SettingsError([
    'NODE_TLS_REJECT_UNAUTHORIZED: is 0, so no certificate would be verified; NODE_EXTRA_CA_CERTS names private authorities',
  ]);
}
