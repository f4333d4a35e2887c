import { gatewayFigures } from './gateway.ts';
import { localFigures } from './local.ts';
import { loginsFigures } from './logins.ts';
import { meshFigures } from './mesh.ts';

/** What can be measured. Each answers its figures, or the reason why this machine cannot measure it. */
export const parts = { local: localFigures, logins: loginsFigures, gateway: gatewayFigures, mesh: meshFigures };
