#include "daemon/store/redis_scripts.h"

#define LAST_OF_LOG "local last=redis.call('XREVRANGE',KEYS[1],'+','-','COUNT',1)[1] last=last and last[1] or ''\n"

const char tp__redis_script_has[] = "return #redis.call('XRANGE',KEYS[1],ARGV[1],ARGV[1])";

const char tp__redis_script_put[] =
    "if ARGV[1]=='new' and redis.call('EXISTS',KEYS[2])==1 then return 'exists' end\n"
    "if ARGV[1]=='at' then " LAST_OF_LOG " if last~=ARGV[2] then return 'moved' end end\n"
    "local was=redis.pcall('HGET',KEYS[2],'epoch')\n"
    "if type(was)~='string' then was=redis.pcall('GET',KEYS[3]) end\n"
    "if type(was)=='string' and (#was>#ARGV[3] or (#was==#ARGV[3] and was>=ARGV[3])) then return 'epoch '..was end\n"
    "local before=redis.pcall('HGET',KEYS[2],'put')\n"
    "local id=redis.call('XADD',KEYS[1],'*','t','put','e',ARGV[3],'f',ARGV[4],'g',ARGV[7],'o',ARGV[6])\n"
    "redis.call('DEL',KEYS[2])\n"
    "redis.call('HSET',KEYS[2],ARGV[4],ARGV[5],'epoch',ARGV[3],'put',id,'run',ARGV[8])\n"
    "if type(before)=='string' then redis.pcall('XTRIM',KEYS[1],'MINID',before) end\n"
    "redis.call('PERSIST',KEYS[1])\n"
    "return id";

const char tp__redis_script_drop[] =
    "if redis.call('EXISTS',KEYS[2])==0 then return 'none' end\n"
    "if ARGV[1]=='1' and redis.pcall('HGET',KEYS[2],'epoch')~=ARGV[2] then return 'epoch' end\n"
    "local was=redis.pcall('HGET',KEYS[2],'epoch')\n"
    "local id=redis.call('XADD',KEYS[1],'*','t','drop','o',ARGV[3])\n"
    "if type(was)=='string' then redis.call('SET',KEYS[3],was,'EX',86400) end\n"
    "redis.call('DEL',KEYS[2])\n"
    "redis.call('EXPIRE',KEYS[1],86400)\n"
    "return id";

const char tp__redis_script_look[] =
    "local has=#redis.call('XRANGE',KEYS[1],ARGV[1],ARGV[1])\n" LAST_OF_LOG
    "local snaps=redis.call('EXISTS',KEYS[2])\n"
    "local marked=redis.call('HGET',KEYS[2],'run')==ARGV[2] and 1 or 0\n"
    "if has==1 and snaps==1 and marked==0 and ARGV[3]~='' then\n"
    "redis.call('XADD',KEYS[1],'*','t','mark','g',ARGV[3])\n"
    "redis.call('HSET',KEYS[2],'run',ARGV[2])\n"
    "marked=1 end\n"
    "return {has,last,marked,snaps}";

const char tp__redis_script_restore[] =
    LAST_OF_LOG
    "if last~=ARGV[1] then return 'moved' end\n"
    "local i=5\n"
    "while i<=#ARGV do\n"
    "local n=tonumber(ARGV[i+1])\n"
    "local a={'XADD',KEYS[1],ARGV[i]}\n"
    "for j=1,n do a[3+j]=ARGV[i+1+j] end\n"
    "redis.call(unpack(a))\n"
    "i=i+2+n end\n"
    "if ARGV[2]~='' then\n"
    "redis.call('DEL',KEYS[2])\n"
    "redis.call('HSET',KEYS[2],ARGV[2],ARGV[3],'epoch',ARGV[4]) end\n"
    "redis.call('PERSIST',KEYS[1])\n"
    "return 'ok'";

/* Versions are compared as numbers: exact below 2^53. */
#define SNAPSHOT_FIELD "'^(%d+)-(%d+)-(%d+-%d+)$'"

const char tp__redis_script_lease[] =
    "local best=0\n"
    "for _,f in ipairs(redis.call('HKEYS',KEYS[1])) do\n"
    "local e,v=string.match(f," SNAPSHOT_FIELD ")\n"
    "if e==ARGV[1] and tonumber(v)>best then best=tonumber(v) end end\n"
    "if best+tonumber(ARGV[4])>tonumber(ARGV[3]) then return string.format('%.0f',best) end\n"
    "if redis.call('GET',KEYS[2])==ARGV[2] then redis.call('DEL',KEYS[2]) end\n" /* of a snapshot of ours that came to nothing */
    "if redis.call('SET',KEYS[2],ARGV[2],'NX','PX',30000) then return 'mine' end\n"
    "return 'busy'";

const char tp__redis_script_snapshot[] =
    "if redis.call('GET',KEYS[3])==ARGV[5] then redis.call('DEL',KEYS[3]) end\n"
    "if redis.call('HGET',KEYS[2],'epoch')~=ARGV[1] then return 'epoch' end\n"
    "if #redis.call('XRANGE',KEYS[1],ARGV[6],ARGV[6])==0 then return 'gap' end\n"
    "local list={}\n"
    "for _,f in ipairs(redis.call('HKEYS',KEYS[2])) do\n"
    "local e,v,p=string.match(f," SNAPSHOT_FIELD ")\n"
    "if e==ARGV[1] and tonumber(v)>=tonumber(ARGV[2]) then return 'newer' end\n"
    "if e then list[#list+1]={e==ARGV[1] and tonumber(v) or -1,f,p} end end\n"
    "redis.call('HSET',KEYS[2],ARGV[3],ARGV[4])\n"
    "table.sort(list,function(a,b) return a[1]>b[1] end)\n"
    "for i=2,#list do redis.call('HDEL',KEYS[2],list[i][2]) end\n"
    "local older=list[1] and list[1][3]\n"
    "if older=='0-0' then older=redis.call('HGET',KEYS[2],'put') end\n"
    "if older then redis.pcall('XTRIM',KEYS[1],'MINID',older) end\n"
    "return 'ok'";
