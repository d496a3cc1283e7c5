// C code of Pinocchio's algorithms by CasADi, for W6:  generate MODEL.bin OUT.c aba|rnea
// MODEL.bin is written by model.saveToBinary of the Python package. Compiled once (8 min), with SITE the site-packages
// of the wheels `pin` and `casadi`, and BENCH_GENERATOR set to the program:
//   g++ -std=c++17 -O0 -w -DPINOCCHIO_ENABLE_TEMPLATE_INSTANTIATION -DBOOST_MPL_LIMIT_LIST_SIZE=30
//     -DBOOST_MPL_LIMIT_VECTOR_SIZE=30 -DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS -DBOOST_FUSION_INVOKE_MAX_ARITY=12
//     w6_generate.cpp -I SITE/cmeel.prefix/include -I SITE/casadi/include -I SITE/casadi/include/eigen3
//     -L SITE/cmeel.prefix/lib -L SITE/casadi -Wl,-rpath,SITE/cmeel.prefix/lib:SITE/casadi
//     -lpinocchio_default -lboost_serialization -lcasadi -o generate
#include <casadi/casadi.hpp>
#include <pinocchio/autodiff/casadi.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>
#include <pinocchio/serialization.hpp>

#include <string>

using casadi::SX;
using Vector = Eigen::Matrix<SX, Eigen::Dynamic, 1>;

static Vector entries(const SX &all)
{
  Vector result(all.size1());
  for (int i = 0; i < all.size1(); ++i) result[i] = all(i);
  return result;
}

int main(int, char **arguments)
{
  pinocchio::Model numeric;
  pinocchio::serialization::loadFromBinary(numeric, arguments[1]);
  auto model = numeric.cast<SX>();
  decltype(model)::Data data(model);
  const SX q = SX::sym("q", model.nq), v = SX::sym("v", model.nv), u = SX::sym("u", model.nv);
  const std::string name = arguments[3];
  const Vector found = name == "aba" ? pinocchio::aba(model, data, entries(q), entries(v), entries(u))
                                     : pinocchio::rnea(model, data, entries(q), entries(v), entries(u));
  SX result(model.nv, 1);
  for (int i = 0; i < model.nv; ++i) result(i) = found[i];
  casadi::CodeGenerator code(arguments[2], casadi::Dict{{"with_header", false}});
  code.add(casadi::Function(name, {q, v, u}, {result}));
  code.generate();
}
