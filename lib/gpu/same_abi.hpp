// Do two declarations of one thing agree in everything that a caller and a callee must agree on?
//
// Our declarations of a vendor's functions have names and types of their own. They may be called
// through each other's type where, argument by argument, both are integers or enumerations of one
// size, or both are pointers to the same; what is opaque on one side may be anything on the other.
//
// Compile time only.
#pragma once

#include <type_traits>

namespace gar {

template <class T>
concept whole_number = std::is_integral_v<T> || std::is_enum_v<T>;

template <class A, class B>
struct same_abi : std::false_type {};

template <class A, class B>
requires whole_number<A> && whole_number<B>
struct same_abi<A, B>
    : std::bool_constant<sizeof(A) == sizeof(B) && (std::is_enum_v<A> || std::is_enum_v<B> ||
                                                    std::is_signed_v<A> == std::is_signed_v<B>)> {
};

template <>
struct same_abi<void, void> : std::true_type {};

// What is pointed at: numbers must agree; pointers, their targets; of structs only that both are.
template <class A, class B>
struct same_target
    : std::bool_constant<std::is_class_v<A> || std::is_union_v<A> || std::is_void_v<A>> {};

template <class A, class B>
requires(whole_number<A> || std::is_pointer_v<A>) struct same_target<A, B> : same_abi<A, B> {
};

template <class A, class B>
struct same_abi<A*, B*>
    : std::bool_constant<std::is_const_v<A> == std::is_const_v<B> &&
                         (std::is_class_v<std::remove_const_t<A>> || std::is_void_v<A>) ==
                             (std::is_class_v<std::remove_const_t<B>> ||
                              std::is_union_v<std::remove_const_t<B>> ||
                              std::is_void_v<B>)&&same_target<std::remove_const_t<A>,
                                                              std::remove_const_t<B>>::value> {};

template <class R, class... A, class Q, class... B>
requires(sizeof...(A) == sizeof...(B)) struct same_abi<R (*)(A...), Q (*)(B...)>
    : std::bool_constant<same_abi<R, Q>::value && (same_abi<A, B>::value && ...)> {
};

}  // namespace gar
