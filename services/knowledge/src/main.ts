import { runService } from '@parley/service/run-service';
import { knowledge } from './service.ts';

await runService(knowledge);
