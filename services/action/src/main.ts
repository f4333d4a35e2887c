import { runService } from '@parley/service/run-service';
import { action } from './service.ts';

await runService(action);
