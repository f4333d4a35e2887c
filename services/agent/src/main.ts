import { runService } from '@parley/service/run-service';
import { agent } from './service.ts';

await runService(agent);
